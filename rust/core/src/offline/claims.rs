//! The claims of a written text that its sources do not hold: names, paths, numbers and quotations.
//!
//! Both sides are compared as sequences of words in lower case, so that a line break, an escape or a quotation mark
//! between two words makes no difference. One pass over the sources finds the claims of all units.

use trimtab_tokens::cancel::poll;

use super::names::{Sort, names};
use super::pattern::{head, is_word, pattern, tail};
use super::text::is_decimal;
use super::words::{Map, runs};

pattern!(SPAN = r"`([^`]+)`");
pattern!(
    SAID = r#"“([^“”]+)”|„([^„“”]+)[“”]|«([^«»]+)»|「([^「」]+)」|『([^『』]+)』|"([^"]+)"|‘([^‘’]{3,})’"#,
    r"|(?:^|[\s(])'([^']{3,})'(?:[\s.,;:)!?]|$)",
);
pattern!(
    /// What a quotation has in place of words: `...`, `[the output]`, `<id>`, `{id}`.
    LEFT_OUT = r"\.{3}|…|\[[^\[\]]*\]|<[^<>]*>|\{[^{}]*\}"
);
pattern!(FENCE = r"^\s*(?:```|~~~)");
pattern!(ITEM = r"^\s*(?:[-*+•>#]+\s+)*(?:\d{1,3}[.)]\s+)?");
pattern!(ORDINAL = r"^\d(?:st|nd|rd|th)$");
pattern!(ESCAPED = r#"\\(?:u[0-9a-fA-F]{4}|.)"#);
pattern!(
    /// A host, a file or a member: `db.internal`, `main.tf`. A sentence without a space behind its stop has a capital there.
    DOTTED = r"^[\w-]{2,}(?:\.[a-z0-9][\w-]+)+$"
);
pattern!(MAIL = r"^[\w.+-]+@[\w-]+\.[\w.-]+$");

/// Letters behind digits that are a unit: `200ms` and `200 ms` are the same words.
const UNIT: usize = 3;
/// Signs in front of a number of one digit that make it an amount.
const MONEY: [char; 4] = ['$', '€', '£', '¥'];

/// The kind of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// An identifier, a version, an id, an address.
    Name,
    /// A path or a file name.
    Path,
    /// A number.
    Number,
    /// Words in quotation marks or backticks.
    Quotation,
}

impl Claim {
    /// The kind in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "name",
            Self::Path => "path",
            Self::Number => "number",
            Self::Quotation => "quotation",
        }
    }
}

/// A claim: it stands if all sequences of one of its `ways` stand.
struct Wanted {
    kind: Claim,
    text: String,
    ways: Vec<Vec<usize>>,
}

/// The claims of each unit that stand in none of `sources`, each once, as they were written.
///
/// Linear in the length of both, but for claims that begin with one word, which are compared one by one.
pub fn unfounded<'s>(units: &[&str], sources: impl Iterator<Item = &'s str>) -> Vec<Vec<(Claim, String)>> {
    let mut sought = Sought::default();
    let wanted: Vec<Vec<Wanted>> = units.iter().map(|unit| claims(unit, &mut sought)).collect();
    if !sought.sequences.is_empty() {
        for source in sources {
            poll();
            sought.look(&normal(source));
            if source.contains('\\') {
                sought.look(&normal(&unescaped(source)));
            }
        }
    }
    let stands = |claim: &Wanted| claim.ways.iter().any(|way| way.iter().all(|at| sought.found[*at]));
    let lacks = |unit: Vec<Wanted>| {
        unit.into_iter().filter(|claim| !stands(claim)).map(|claim| (claim.kind, claim.text)).collect()
    };
    wanted.into_iter().map(lacks).collect()
}

/// The sequences of words to be found, by their first word.
#[derive(Default)]
struct Sought {
    sequences: Vec<String>,
    places: Map<String, usize>,
    first: Map<String, Vec<usize>>,
    found: Vec<bool>,
}

impl Sought {
    /// The index of a sequence; `None` of a text without words, which stands everywhere.
    fn place(&mut self, text: &str) -> Option<usize> {
        let sequence = plain(text);
        let first = sequence.split(' ').next().filter(|word| !word.is_empty())?.to_owned();
        if let Some(known) = self.places.get(&sequence) {
            return Some(*known);
        }
        let at = self.sequences.len();
        self.first.entry(first).or_default().push(at);
        self.places.insert(sequence.clone(), at);
        self.sequences.push(sequence);
        self.found.push(false);
        Some(at)
    }

    /// Marks the sequences that stand in a normal text.
    fn look(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(' ').unwrap_or(rest.len());
            if let Some(places) = self.first.get_mut(&rest[..end]) {
                let (sequences, found) = (&self.sequences, &mut self.found);
                places.retain(|at| {
                    let behind = rest.strip_prefix(sequences[*at].as_str());
                    found[*at] = behind.is_some_and(|behind| behind.is_empty() || behind.starts_with(' '));
                    !found[*at]
                });
            }
            rest = rest.get(end + 1..).unwrap_or_default();
        }
    }
}

/// The claims of a unit.
fn claims(unit: &str, sought: &mut Sought) -> Vec<Wanted> {
    let unit = &unit[ITEM.find(unit).map_or(0, |mark| mark.end)..];
    let mut found: Vec<Wanted> = Vec::new();
    let mut add = |kind, text: &str, ways: Vec<Vec<String>>| {
        if found.iter().any(|known| known.text == text) {
            return;
        }
        let ways = ways.iter().map(|way| way.iter().filter_map(|one| sought.place(one)).collect()).collect();
        found.push(Wanted { kind, text: text.to_owned(), ways });
    };
    let is_code = FENCE.is_match(unit);
    let bare = if is_code {
        let lines = unit.lines().filter(|line| !FENCE.is_match(line));
        lines.collect::<Vec<_>>().join("\n").into()
    } else {
        for span in SPAN.all_groups(unit) {
            add(Claim::Quotation, span.text(1), ways_of_code(span.text(1)));
        }
        for said in SAID.all_groups(&unit.replace('`', " ")) {
            let text = (1..=8).map(|group| said.text(group)).find(|text| !text.is_empty()).unwrap_or_default();
            add(Claim::Quotation, text, ways_of_words(text));
        }
        SPAN.replaced(unit, " ")
    };
    for run in runs(&bare) {
        if MAIL.is_match(run) {
            add(Claim::Name, run, vec![vec![run.to_owned()]]);
            continue;
        }
        let mut held = Vec::new();
        names(run, &mut held);
        let bare = run.trim_end_matches(['.', ':']);
        if held.is_empty() && bare.contains(char::is_alphabetic) && DOTTED.is_match(bare) {
            held.push((bare.to_owned(), Sort::Name));
        }
        for (name, sort) in held.iter().filter(|(name, _)| !is_compound(name)) {
            let is_path = *sort == Sort::Path || super::files::SUFFIX.is_match(name);
            let kind = if is_path { Claim::Path } else { Claim::Name };
            let mut ways = ways_of_path(name);
            if name.bytes().all(|b| b == b'/' || b.is_ascii_lowercase()) && name.bytes().any(|b| b.is_ascii_lowercase())
            {
                ways.push(name.split('/').map(str::to_owned).collect()); // `setup/extract/commit` may be prose
            }
            add(kind, name, ways);
        }
    }
    for (text, ways) in numbers(&bare) {
        add(Claim::Number, text, ways);
    }
    found
}

/// The parts of a quotation on both sides of `...`, all of which must stand; a path in it may be written longer.
fn ways_of_words(text: &str) -> Vec<Vec<String>> {
    let whole = LEFT_OUT.split(text).into_iter().map(str::to_owned).collect();
    let mut ways = vec![whole];
    if !text.contains(' ') {
        ways.extend(ways_of_path(text).into_iter().skip(1));
    }
    ways
}

/// A span of code: as a quotation; of a call or an assignment, which sum up code, all words may stand apart.
fn ways_of_code(text: &str) -> Vec<Vec<String>> {
    let mut ways = ways_of_words(text);
    if text.contains("()") || text.contains(" = ") {
        ways.push(text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(str::to_owned).collect());
    }
    ways
}

/// A name as it stands; an absolute path also as a folder and the path below it.
fn ways_of_path(name: &str) -> Vec<Vec<String>> {
    let mut ways = vec![vec![name.to_owned()]];
    if name.starts_with(['/', '~']) {
        let cuts = name.match_indices('/').map(|(at, _)| at).skip(2);
        ways.extend(cuts.map(|at| vec![name[..at].to_owned(), name[at + 1..].to_owned()]));
    }
    ways
}

/// Whether a name is a word of letters and hyphens: `end-to-end`, `state-of-the-art`.
fn is_compound(name: &str) -> bool {
    name.contains('-') && name.chars().all(|c| c == '-' || c.is_ascii_alphabetic())
}

/// The numbers of a text. One digit alone counts or orders what stands beside it, and claims nothing.
fn numbers(text: &str) -> Vec<(&str, Vec<Vec<String>>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(is_word).map(|at| from + at) {
        let mut end = word_end(text, start);
        from = end;
        if !text[start..].starts_with(is_decimal) || text[start..end].contains('_') {
            continue;
        }
        // `1,234`, `3.14` and `1'000` are one number.
        while let Some(next) = text[end..].strip_prefix([',', '.', '\'']).filter(|rest| rest.starts_with(is_decimal)) {
            end = word_end(text, text.len() - next.len());
        }
        from = end;
        let whole = &text[start..end];
        let digits = whole.trim_end_matches(|c: char| !is_decimal(c));
        let unit = &whole[digits.len()..];
        if unit.chars().count() > UNIT || digits.contains(|c: char| c.is_alphabetic()) {
            continue; // a name, `3d2f`
        }
        let is_amount = text[..start].ends_with(MONEY) || text[end..].starts_with('%') || !unit.is_empty();
        if digits.len() == 1 && (!is_amount || ORDINAL.is_match(whole)) {
            continue;
        }
        found.push((whole, vec![vec![digits.to_owned()], vec![digits.replace([',', '\''], "")]]));
    }
    found
}

fn word_end(text: &str, start: usize) -> usize {
    text[start..].find(|c| !is_word(c)).map_or(text.len(), |at| start + at)
}

/// A text as words in lower case with a space between two; groups of digits also as one number, behind them.
fn normal(text: &str) -> String {
    let mut out = plain(text);
    let mut joined = String::new();
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices([',', '\'']) {
        // The first comma of `1,234,567`: one to three digits in front, groups of three behind.
        let front = bytes[..at].iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=3).contains(&front) {
            continue;
        }
        let (mut number, mut end) = (text[at - front..at].to_owned(), at);
        while let Some(group) = bytes.get(end).filter(|byte| **byte == bytes[at]).and(bytes.get(end + 1..end + 4)) {
            if !group.iter().all(u8::is_ascii_digit) {
                break;
            }
            number.push_str(&text[end + 1..end + 4]);
            end += 4;
        }
        if end > at && !bytes.get(end).is_some_and(u8::is_ascii_digit) {
            joined.push(' ');
            joined.push_str(&number);
        }
    }
    out.push_str(&joined);
    out
}

/// A text as words in lower case with a space between two.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let end = word_end(rest, start);
        let word = &rest[start..end];
        rest = &rest[end..];
        push(word, &mut out);
    }
    out
}

/// Adds a word: a unit behind digits is a word of its own, and so is each character of a script without spaces.
fn push(word: &str, out: &mut String) {
    let begin = |out: &mut String| {
        if !out.is_empty() {
            out.push(' ');
        }
    };
    if word.is_ascii() {
        begin(out);
        let digits = word.bytes().take_while(u8::is_ascii_digit).count();
        let unit = &word[digits..];
        let is_unit = digits > 0 && (1..=UNIT).contains(&unit.len()) && unit.bytes().all(|b| b.is_ascii_alphabetic());
        let cut = if is_unit { digits } else { word.len() };
        out.extend(word[..cut].chars().map(|c| c.to_ascii_lowercase()));
        if is_unit {
            out.push(' ');
            out.extend(unit.chars().map(|c| c.to_ascii_lowercase()));
        }
        return;
    }
    let mut alone = true;
    for c in word.chars() {
        let is_alone = stands_alone(c);
        if alone || is_alone {
            begin(out);
        }
        alone = is_alone;
        out.extend(c.to_lowercase());
    }
}

/// Whether a character is one of a script that writes no spaces, or adds particles to words: Chinese, Japanese, Korean.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// A text whose escapes are characters: `\n` a space, `\u00e9` its letter, `\"` a quotation mark.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in ESCAPED.find_all(text) {
        out.push_str(&text[end..range.start]);
        let escape = &text[range.start + 1..range.end];
        match escape.chars().next() {
            Some('n' | 'r' | 't') => out.push(' '),
            Some('u') if escape.len() == 5 => {
                let code = u32::from_str_radix(tail(escape, 4), 16).ok().and_then(char::from_u32);
                out.push(code.unwrap_or(' '));
            }
            _ => out.push_str(head(escape, 1)),
        }
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lacking(unit: &str, source: &str) -> Vec<(Claim, String)> {
        unfounded(&[unit], std::iter::once(source)).remove(0)
    }

    fn texts(unit: &str, source: &str) -> Vec<String> {
        lacking(unit, source).into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn names_paths_numbers_and_quotations_that_stand_nowhere_are_found() {
        let source = "see src/app/main.py and parse_args; port 8443, $956 in total";
        let unit = "- 1. Changed `src/app/main.py`, src/app/other.py, parse_args and parse_opts; port 8444, $956, “in total”, \"never mind\"";
        assert_eq!(
            lacking(unit, source),
            [
                (Claim::Quotation, "never mind".to_owned()),
                (Claim::Path, "src/app/other.py".to_owned()),
                (Claim::Name, "parse_opts".to_owned()),
                (Claim::Number, "8444".to_owned()),
            ]
        );
    }

    #[test]
    fn hosts_and_single_quotation_marks_are_claims_too() {
        assert_eq!(texts("at db.internal, in main.tf. See e.g. this.Then", ""), ["db.internal", "main.tf"]);
        assert_eq!(texts("he said 'never do that', don't you, isn't it", "never do this"), ["never do that"]);
        assert_eq!(texts("‘never do this’", "never do this"), [""; 0]);
    }

    #[test]
    fn a_part_of_a_word_is_not_the_word() {
        assert_eq!(texts("edited app.py with 12 lines", "myapp.py 3125 lines"), ["app.py", "12"]);
        assert_eq!(texts("edited main.py", "src/main.py:4: error"), [""; 0]);
    }

    #[test]
    fn numbers_are_equal_however_their_digits_are_grouped() {
        for (unit, source) in [
            ("1,234 tokens", "1234 tokens"),
            ("1234 tokens", "1,234 tokens"),
            ("200 ms", "200ms"),
            ("200ms", "200 ms"),
            ("12 and 3.14", "100,12,3.14"),
            ("1234567", "1,234,567"),
            ("10 or 200", "100,10,200"),
        ] {
            assert_eq!(texts(unit, source), [""; 0], "{unit}");
        }
        assert_eq!(texts("v2 has 3 files, the 2nd of 7%", ""), ["7"]);
    }

    #[test]
    fn escapes_line_breaks_and_case_make_no_difference() {
        let source = r#"{"text": "Never\ntouch \u00e9tat, \"please\" C:\\new"}"#;
        assert_eq!(texts("the user said \"never touch état, please\", `C:\\new`", source), [""; 0]);
    }

    #[test]
    fn scripts_without_spaces_are_quoted_inside_a_run() {
        assert_eq!(texts("用户说「不要修改」和「删除它」", "请不要修改数据库"), ["删除它"]);
    }

    #[test]
    fn what_a_quotation_leaves_out_may_be_anything() {
        assert_eq!(texts("\"keep the ... as it is\"", "please keep the old file as it is"), [""; 0]);
        assert_eq!(
            texts("\"keep the ... as it was\"", "please keep the old file as it is"),
            ["keep the ... as it was"]
        );
    }

    #[test]
    fn code_and_its_placeholders_claim_their_names_alone() {
        let source = "func Load(path string) and cfg.Strict; set Strict to false; .git/sessions/42.json";
        assert_eq!(texts("```go\n cfg.Strict = \"no such words\" // ...\n```", source), [""; 0]);
        assert_eq!(texts("```go\n readAllRows(cfg)\n```", source), ["readAllRows"]);
        assert_eq!(texts("`Load()`, `Strict = false`, `.git/sessions/<id>.json`", source), [""; 0]);
        assert_eq!(texts("from `\"0\"` to `\"1\"`", "0 1"), [""; 0]);
        assert_eq!(texts("`Store()`, \"set `Strict` to [a value]\"", source), ["Store()"]);
        assert_eq!(texts("load/set/strict, src/app/run", source), ["src/app/run"]);
    }

    #[test]
    fn an_absolute_path_may_be_a_folder_and_a_path_below_it() {
        assert_eq!(texts("/home/u/p/src/a.py", "cwd /home/u/p, edit src/a.py"), [""; 0]);
        assert_eq!(texts("/home/u/p/src/b.py", "cwd /home/u/p, edit src/a.py"), ["/home/u/p/src/b.py"]);
    }

    #[test]
    fn words_of_prose_claim_nothing() {
        assert_eq!(
            texts("An end-to-end, state-of-the-art fix of 2 files; see e.g. JavaScript and/or GitHub.", ""),
            [""; 0]
        );
    }
}
