//! Repairs of messages that are JSON, a line each.

use crate::json::{Json, Tape};
use crate::node::quote;
use crate::seeded::{Map, Set};
use crate::session::value::last;
use crate::text::is_space;
use crate::validate::Problem;

/// The code of a text of nothing but white space, which is left out.
const BLANK: &str = "blank_text_block";

/// Codes of problems that may go with a blank text.
const MAY_GO: [&str; 3] = ["thinking_not_first", "thinking_last", "final_assistant_whitespace"];

/// The code of white space at the end, which is stripped.
const TRAILING: &str = "final_assistant_whitespace";

/// The lines of messages without blank texts, or without white space at the end; `None` where problems are others.
///
/// # Examples
///
/// ```
/// use trimtab_core::counter::Counter;
/// use trimtab_core::jsonl::Reader;
/// use trimtab_core::mended::mended;
/// use trimtab_core::shape::Provider;
/// use trimtab_core::validate::{Options, validate};
/// use trimtab_tokens::Encoding;
///
/// let lines = r#"{"role":"user","content":[{"type":"text","text":"\n"},{"type":"text","text":"tea"}]}"#;
/// let mut reader = Reader::new(Counter::from(Encoding::O200k), Some(Provider::Anthropic));
/// reader.push(lines.as_bytes())?;
/// let ledger = reader.finish()?.found;
/// let problems = validate(&ledger, Provider::Anthropic, Options::default(), None);
/// let without = r#"{"role":"user","content":[{"type":"text","text":"tea"}]}"#;
/// assert_eq!(mended(lines, &problems).as_deref(), Some(without));
/// # Ok::<(), trimtab_core::error::Error>(())
/// ```
#[must_use]
pub fn mended(lines: &str, problems: &[Problem]) -> Option<String> {
    let has_blank = problems.iter().any(|problem| problem.code == BLANK);
    let is_known = |code: &str| if has_blank { code == BLANK || MAY_GO.contains(&code) } else { code == TRAILING };
    if !problems.iter().all(|problem| is_known(problem.code)) {
        return None;
    }
    let mut changed: Map<usize, Set<usize>> = Map::default();
    for problem in problems.iter().filter(|problem| !has_blank || problem.code == BLANK) {
        changed.entry(problem.index).or_default().extend(problem.block.filter(|_| has_blank));
    }
    let mut tape = Tape::default();
    let written = |(index, line): (usize, &str)| match changed.get(&index) {
        None => Some(line.to_owned()),
        Some(blocks) => rewritten(line, &mut tape, blocks),
    };
    let made: Vec<String> = lines.split('\n').enumerate().map(written).collect::<Option<_>>()?;
    Some(made.join("\n"))
}

/// A line whose content has these blocks no more, or without any of them no white space at its end.
fn rewritten(line: &str, tape: &mut Tape, blocks: &Set<usize>) -> Option<String> {
    tape.parse(line, 0).ok()?;
    let parsed = tape.of(line);
    let content = last(&Json::new(&parsed), b"content")?;
    let values: Vec<_> =
        content.values().enumerate().filter(|(n, _)| !blocks.contains(n)).map(|(_, block)| block).collect();
    let mut kept: Vec<String> = values.iter().map(|block| block.source().to_owned()).collect();
    if let (true, Some(end), Some(block)) = (blocks.is_empty(), kept.last_mut(), values.last()) {
        *end = stripped(block)?;
    }
    let made = match (content.is_list(), blocks.is_empty()) {
        (true, _) if !kept.is_empty() => format!("[{}]", kept.join(",")),
        (false, true) => strip(&content)?,
        _ => return None, // a message of nothing else
    };
    let start = content.position();
    Some([&line[..start], &made, &line[start + content.source().len()..]].concat())
}

/// A block whose text has no white space at its end.
fn stripped(block: &Json<'_, '_>) -> Option<String> {
    let mut fields = Vec::new();
    for field in block.members() {
        let mut written = String::new();
        quote(std::str::from_utf8(&field.exact_name()).ok()?, &mut written);
        let is_text = &*field.exact_name() == b"text";
        fields.push(written + ":" + &if is_text { strip(&field)? } else { field.source().to_owned() });
    }
    Some(format!("{{{}}}", fields.join(",")))
}

/// A string as JSON, without white space at its end.
fn strip(text: &Json<'_, '_>) -> Option<String> {
    let (exact, mut out) = (text.exact()?, String::new());
    quote(std::str::from_utf8(&exact).ok()?.trim_end_matches(is_space), &mut out);
    Some(out)
}
