//! A text as clean lines: sentences without invisible characters, list marks and bold.

use trimtab_tokens::cancel::poll;
use trimtab_tokens::{is_letter, is_number};

use super::pattern::{head, is_space, is_word, length, lines, pattern, strip, words};

pattern!(ESCAPES = r"\x1b\[[0-9;?]*[A-Za-z]");
pattern!(BULLET = r"^[-*+•>#|]+\s+");
pattern!(ITEM = r"^\s*(?:[-*+•>]|\d{1,3}[.)]|[A-Za-z][.)])\s");
pattern!(ALONE = r"^(?:\s{0,3}(?:[|#<}\])\[]|\d{4}|[-=*_]{3})|\s{4}|\t)");
pattern!(COLUMNS = r"[^.!?:\s]\s{2,}\S");
pattern!(
    CODE = r#"[{};|→]|:=|[=!]=|=>| = |\w\(\)|^(?://|/\*|[*#] |@\w|\.\w|<\w)|^(?:return|elif|func|const|import ["{*])"#,
    r"|^(?:var|let|const|def|class|type|struct|if|else|for|while|import|from|use|pub|fn|export|async|raise|throw|switch",
    r"|case|try|except|catch|assert|public|private|static)\b.*[(){}:=,;]",
);

/// Characters of a long word that are kept.
const WORD_START: usize = 48;
/// Characters of a word that is cut: encoded data, nearly always, unless it is of a script without spaces.
const LONG_WORD: usize = 160;
/// Lengths of the longest line of a wrapped paragraph: editors and mail wrap at 60 to 120.
const WRAPPED: std::ops::RangeInclusive<usize> = 40..=130;

/// A text as one line without invisible characters, cut to a number of characters at a word.
pub fn clean(text: &str, longest: usize) -> String {
    poll();
    let text = head(text, 40 * longest);
    let text = if text.contains('\x1b') { ESCAPES.replaced(text, "") } else { text.into() };
    let mut line = String::with_capacity(text.len().min(4 * longest));
    for word in text.split(|c| is_space(c) || is_unseen(c)).filter(|word| !word.is_empty()) {
        if !line.is_empty() {
            line.push(' ');
        }
        if word.len() >= LONG_WORD && length(word) >= LONG_WORD && head(word, WORD_START).is_ascii() {
            line.extend([head(word, WORD_START), "…"]);
        } else {
            line.push_str(word);
        }
    }
    if length(&line) > longest {
        let (half, end) = (head(&line, longest / 2).len(), head(&line, longest).len());
        let cut = line[half..end].rfind(' ').map_or(0, |at| half + at);
        line.truncate(if cut > 0 { cut } else { end });
        line.push('…');
    }
    line
}

/// Whether a character is a control, a mark of direction or a joiner: what a reader does not see.
fn is_unseen(c: char) -> bool {
    match c {
        ' '..='~' => false,
        '\0'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{fffd}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

/// The sentences of a text, each a clean line of at most `longest` characters without list marks and bold.
pub fn sentences(text: &str, longest: usize) -> Vec<String> {
    let mut found = Vec::new();
    for raw in unwrapped(text) {
        let parts = if length(&raw) > 60 { split(&raw) } else { vec![raw.as_str()] };
        for part in parts {
            found.extend(bare(part, longest));
        }
    }
    found
}

/// A clean line without a list mark and bold; None if nothing of it is a letter or a number.
pub fn bare(text: &str, longest: usize) -> Option<String> {
    let plain = without_bold(&clean(text, longest));
    let mark = BULLET.find(&plain).map_or(0, |mark| mark.end);
    plain[mark..].chars().any(is_alphanumeric).then(|| plain[mark..].to_owned())
}

pub fn is_alphanumeric(c: char) -> bool {
    c.is_ascii_alphanumeric() || (!c.is_ascii() && (is_letter(c) || is_number(c)))
}

/// The text with `**bold**` words as plain ones.
fn without_bold(text: &str) -> String {
    let (mut out, mut rest, mut before) = (String::with_capacity(text.len()), text, None);
    while let Some(at) = rest.find("**") {
        let (plain, marked) = rest.split_at(at);
        out.push_str(plain);
        before = plain.chars().last().or(before);
        let inside = &marked[2..];
        let end = inside.find('*').unwrap_or(inside.len());
        let (bold, behind) = inside.split_at(end);
        let is_bold = before.is_none_or(is_space)
            && bold.starts_with(|c| !is_space(c))
            && length(bold) <= 201
            && behind.starts_with("**")
            && !behind[2..].starts_with(is_word);
        if is_bold {
            out.push_str(bold);
            rest = &behind[2..];
        } else {
            out.push('*');
            rest = &marked[1..];
        }
        before = Some('*');
    }
    out.push_str(rest);
    out
}

/// The sentences of a line. A sentence ends with a stop, closing marks and white space before a capital letter or a
/// digit, or with a full-width stop.
pub fn split(line: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut from) = (0, 0);
    let is_stop = |c| matches!(c, '.' | '!' | '?' | '。' | '！' | '？');
    while let Some(at) = line[from..].find(is_stop) {
        let stop = from + at;
        let Some(c) = line[stop..].chars().next() else { break };
        let after = stop + c.len_utf8();
        from = after;
        if !c.is_ascii() {
            parts.push(&line[start..after]);
            start = after;
            continue;
        }
        let ended = line[..stop].chars().next_back().is_some_and(|c| !is_space(c) && !is_decimal(c));
        let behind = line[after..].trim_start_matches([')', '"', '\'', '*']);
        let next = behind.trim_start_matches(is_space);
        let opened = next.strip_prefix(['"', '\'', '(', '`', '*']).unwrap_or(next);
        let begins = |text: &str| text.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
        if ended && next.len() < behind.len() && begins(opened) {
            parts.push(&line[start..after]);
            start = line.len() - next.len();
            from = start;
        }
    }
    parts.push(&line[start..]);
    parts
}

/// Whether Python's `\d` matches a character.
pub fn is_decimal(c: char) -> bool {
    pattern!(DECIMAL = r"^\d");
    c.is_ascii_digit() || (!c.is_ascii() && is_number(c) && DECIMAL.is_match(c.encode_utf8(&mut [0; 4])))
}

/// The lines of a text, with the lines of a wrapped paragraph as one. Lines of lists, code and tables stay apart.
pub fn unwrapped(text: &str) -> Vec<String> {
    let (mut out, mut block, mut fenced) = (Vec::new(), Vec::new(), false);
    for raw in lines(text) {
        let fence = raw.trim_start_matches(is_space).starts_with("```");
        let blank = strip(raw).is_empty();
        let alone = fence || fenced || blank || stands_alone(raw);
        fenced ^= fence;
        if alone || ITEM.is_match(raw) {
            join(&block, &mut out);
            block.clear();
        }
        if !alone {
            block.push(raw);
        } else if !blank {
            out.push(raw.to_owned());
        }
    }
    join(&block, &mut out);
    out
}

/// Whether a line is no part of a paragraph: a heading, indented, or of a table, a log, a program.
fn stands_alone(raw: &str) -> bool {
    ALONE.is_match(raw) || raw.trim_end_matches(is_space).ends_with(['{', '}', ';']) || COLUMNS.is_match(head(raw, 400))
}

/// Adds a paragraph's lines to `out`. A line goes on with the next if the next one's first word had no place in it.
fn join(block: &[&str], out: &mut Vec<String>) {
    let width = block.iter().map(|raw| length(raw)).max().unwrap_or(0);
    let (mut held, mut before) = (String::new(), "");
    for raw in block {
        let first = words(raw).next().unwrap_or_default();
        let full = length(before) + 1 + length(first) > width && WRAPPED.contains(&width);
        let ended = || before.trim_end_matches(is_space).ends_with(['.', '!', '?', ':', ';']);
        let goes_on = full && (first.starts_with(char::is_lowercase) || !ended());
        if held.is_empty() {
            held.push_str(raw);
        } else if goes_on {
            held.push(' ');
            held.push_str(strip(raw));
        } else {
            out.push(std::mem::replace(&mut held, (*raw).to_owned()));
        }
        before = raw;
    }
    if !held.is_empty() {
        out.push(held);
    }
}

/// Whether a line looks like source code rather than words.
pub fn is_code(line: &str) -> bool {
    CODE.is_match(line)
}

/// A text without what stands between code fences.
pub fn without_code(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains("```") {
        return text.into();
    }
    text.split("```").step_by(2).collect::<Vec<_>>().join("\n").into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_line_has_no_invisible_characters_and_ends_at_a_word() {
        assert_eq!(clean(" a\x1b[31m red\x1b[0m\u{200b}b\u{85}\0c ", 300), "a red b c");
        assert_eq!(clean("one two three", 8), "one two…");
        assert_eq!(clean(&"x".repeat(160), 300), format!("{}…", "x".repeat(48)));
    }

    #[test]
    fn sentences_end_before_capitals_and_behind_full_width_stops() {
        assert_eq!(split("It is so. (See 3.1.) Then it ends."), ["It is so.", "(See 3.1.) Then it ends."]);
        assert_eq!(split("先修复。好"), ["先修复。", "好"]);
    }

    #[test]
    fn bold_words_become_plain() {
        assert_eq!(without_bold("**Goal**: a **b**c ***d*** x**e**"), "Goal: a **b**c ***d*** x**e**");
    }
}
