//! Renamed names and their new names, from statements, requests and calls.

use super::line::Line;
use super::part::{Kind, Part};
use super::pattern::{head, is_space, is_word, length, pattern};
use super::words::Map;

pattern!(RENAMES = r"\b[Rr]enam(?:e|ed|es|ing)\b");
pattern!(INSTEAD = r",? (?:instead of|rather than|and not) ");
pattern!(CALL = r#"[`"'](\w\w+)[`"'][^`\n]{1,200}?\b[Cc]all (?:it|them|this|the \w+) [`"'](\w\w+)[`"']"#);
pattern!(ANCHOR = r"\\[bB<>]");

/// The text between an old name and a new one.
const TO: [&str; 6] = ["to", "into", "as", "->", "→", "=>"];
const QUOTES: [char; 3] = ['`', '"', '\''];
/// Characters of a name in quotes, and at each side of a capital letter or `_` in a name without.
const LONGEST: usize = 60;
/// Characters between "rename" and the old name.
const BETWEEN: usize = 30;
/// Characters of what sed replaces, and of what it puts there.
const MOST_UNITS: usize = 80;
/// Names of which the lines are searched for.
const MOST_NAMES: usize = 400;

/// Renamed names: the new name, and the position of the renaming.
#[derive(Default)]
pub struct Renamed(Map<String, (String, i64)>);

impl Renamed {
    /// The names that the parts rename.
    pub fn of(parts: &[&Part]) -> Self {
        let mut found = Self::default();
        for part in parts {
            let names = match part.kind {
                Kind::User | Kind::Assistant => told(head(&part.text, 20_000)),
                Kind::Call => replaced(part),
                _ => continue,
            };
            for (old, new) in names {
                found.add(old, new, part.at);
            }
        }
        found
    }

    /// Records a renaming.
    fn add(&mut self, old: String, new: String, at: i64) {
        if old != new {
            self.0.remove(&new);
            self.0.insert(old, (new, at));
        }
    }

    /// Whether a name that was last seen at a position was renamed later.
    pub fn gone(&self, name: &str, last: i64) -> bool {
        name.split('.').any(|one| self.0.get(one).is_some_and(|(_, at)| *at >= last))
    }
}

/// Lowers the lines that mention a name before its renaming and do not mention the new one.
pub fn outdate(lines: &mut [Line], names: &Renamed) {
    let mut known: Vec<&String> = names.0.keys().collect();
    known.sort();
    known.truncate(MOST_NAMES);
    let is_old = |line: &Line, word: &str| {
        let name = known.binary_search_by(|one| one.as_str().cmp(word)).ok().map(|at| &names.0[known[at]]);
        name.is_some_and(|(new, at)| line.at <= *at && !line.text.contains(new.as_str()))
    };
    for line in lines.iter_mut().filter(|line| !line.section.is_users()) {
        if line.text.split(|c| !is_word(c)).any(|word| is_old(line, word)) {
            line.trust *= 0.1;
        }
    }
}

/// The pairs of an old and a new name in a text.
fn told(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    if text.contains("enam") {
        rename_to(text, &mut found);
    }
    instead_of(text, &mut found);
    if text.contains("all ") {
        let fits = |name: &str| length(name) <= LONGEST;
        for names in CALL.all_groups(text).iter().filter(|names| fits(names.text(1)) && fits(names.text(2))) {
            found.push((names.text(1).to_owned(), names.text(2).to_owned()));
        }
    }
    found
}

/// "Rename Old to New".
fn rename_to(text: &str, found: &mut Vec<(String, String)>) {
    let mut end = 0;
    for word in RENAMES.find_all(text) {
        if word.start < end {
            continue;
        }
        let gap = text[word.end..].char_indices().take(BETWEEN + 1);
        let open = gap.scan(true, |open, (at, c)| {
            let was = *open;
            *open &= !matches!(c, '.' | '\n');
            was.then_some(word.end + at)
        });
        for start in open {
            let Some((old, behind)) = word_at(text, start) else { continue };
            let Some(rest) = behind_to(&text[behind..]) else { continue };
            if let Some((new, stop)) = last_name_at(text, text.len() - rest.len()) {
                found.push((old.to_owned(), new.to_owned()));
                end = stop;
                break;
            }
        }
    }
}

/// Returns the text behind a "to" with white space around it.
fn behind_to(text: &str) -> Option<&str> {
    let word = text.strip_prefix(is_space)?.trim_start_matches(is_space);
    let rest = TO.into_iter().find_map(|to| word.strip_prefix(to).filter(|rest| rest.starts_with(is_space)))?;
    Some(rest.trim_start_matches(is_space))
}

/// "New instead of Old".
fn instead_of(text: &str, found: &mut Vec<(String, String)>) {
    let mut end = 0;
    for between in INSTEAD.find_all(text) {
        let before = text[..between.start].strip_suffix(QUOTES).unwrap_or(&text[..between.start]);
        let start = before.trim_end_matches(is_word).len();
        let quoted = text[..start].ends_with(QUOTES);
        if start < end || start == before.len() || !is_name(&before[start..], quoted && before.len() < between.start) {
            continue;
        }
        if let Some((old, stop)) = last_name_at(text, between.end) {
            found.push((old.to_owned(), before[start..].to_owned()));
            end = stop;
        }
    }
}

/// The name that begins at `start`, behind a quote or not, and the end of it and of the quote behind it.
fn word_at(text: &str, start: usize) -> Option<(&str, usize)> {
    if text[..start].ends_with(is_word) {
        return None;
    }
    let rest = text[start..].strip_prefix(QUOTES).unwrap_or(&text[start..]);
    let name = &rest[..rest.len() - rest.trim_start_matches(is_word).len()];
    let from = text.len() - rest.len();
    let behind = &rest[name.len()..];
    let closed = behind.starts_with(QUOTES);
    let fits = !name.is_empty() && is_name(name, closed && text[..from].ends_with(QUOTES));
    fits.then(|| (name, from + name.len() + usize::from(closed)))
}

/// As [`word_at`], with nothing behind: a very long name may be cut.
fn last_name_at(text: &str, start: usize) -> Option<(&str, usize)> {
    if let Some(found) = word_at(text, start).filter(|(name, _)| length(name) <= LONGEST) {
        return Some(found);
    }
    let rest = text[start..].strip_prefix(QUOTES).unwrap_or(&text[start..]);
    let from = text.len() - rest.len();
    let begins = head(&rest[..rest.len() - rest.trim_start_matches(is_word).len()], LONGEST + 1);
    let (at, capital) = begins.char_indices().rfind(|(_, c)| is_capital(*c))?;
    let behind = &rest[at + capital.len_utf8()..];
    let word = &behind[..behind.len() - behind.trim_start_matches(is_word).len()];
    let end = from + at + capital.len_utf8() + head(word, LONGEST).len();
    let closed = text[end..].starts_with(QUOTES);
    Some((&text[from..end], end + usize::from(closed)))
}

/// Whether a word is a name: in quotes any of 2 to 60 characters, else one with a capital letter or `_`.
fn is_name(word: &str, quoted: bool) -> bool {
    let size = length(word);
    (quoted && (2..=LONGEST).contains(&size))
        || word.chars().enumerate().any(|(at, c)| is_capital(c) && at <= LONGEST && size - at <= LONGEST + 1)
}

fn is_capital(c: char) -> bool {
    c.is_ascii_uppercase() || c == '_'
}

/// The pairs of an old and a new name that a call replaces with each other.
fn replaced(part: &Part) -> Vec<(String, String)> {
    let shell = head(part.shell(), 4_000);
    let plain = |text: &str| ANCHOR.replaced(text, "").into_owned();
    let mut found: Vec<_> = substitutions(shell).iter().map(|one| (plain(one.old), plain(one.new))).collect();
    if matches!(part.arguments.get("replace_all"), Some(super::arguments::Value::Bool(true))) {
        found.push((part.arguments.words("old_string"), part.arguments.words("new_string")));
    }
    let is_plain =
        |word: &str| (2..=LONGEST).contains(&length(word)) && word.chars().all(is_word) && word.contains(is_capital);
    found.retain(|(old, new)| is_plain(old) && is_plain(new));
    found
}

/// An expression of sed or perl that replaces: `s/old/new/g`.
struct Substitution<'t> {
    start: usize,
    end: usize,
    old: &'t str,
    new: &'t str,
}

/// The replacements of sed and perl in a text: old and new.
fn substitutions(text: &str) -> Vec<Substitution<'_>> {
    let (mut found, mut from) = (Vec::new(), 0);
    while let Some(start) = text[from..].find('s').map(|at| from + at) {
        from = start + 1;
        let Some(mark) = text[from..].chars().next().filter(|c| matches!(c, '/' | '|' | '#' | ',')) else { continue };
        if text[..start].ends_with(is_word) {
            continue;
        }
        let Some(old) = units(&text[from + 1..], mark).filter(|old| !old.is_empty()) else { continue };
        let Some(new) = units(&text[from + old.len() + 2..], mark) else { continue };
        let end = from + old.len() + new.len() + 3;
        let flags = text[end..].len() - text[end..].trim_start_matches(['g', 'i', 'p', 'I']).len();
        found.push(Substitution { start, end: end + flags, old, new });
        from = end + flags;
    }
    found
}

/// The text before an unescaped `mark`: at most 80 characters or escapes, none of them the end of a line.
fn units(text: &str, mark: char) -> Option<&str> {
    let mut chars = text.char_indices();
    for _ in 0..=MOST_UNITS {
        let (at, c) = chars.next()?;
        if c == mark {
            return Some(&text[..at]);
        }
        let c = if c == '\\' { chars.next()?.1 } else { c };
        if c == '\n' {
            return None;
        }
    }
    None
}

/// A call's text; what sed or perl replace as words, as it looks like a path else.
pub fn without_substitutions(part: &Part) -> std::borrow::Cow<'_, str> {
    let text = part.text.as_str();
    if part.kind != Kind::Call || !(text.contains("sed ") || text.contains("perl ")) {
        return text.into();
    }
    let (mut out, mut end) = (String::with_capacity(text.len()), 0);
    for one in substitutions(text) {
        out.extend([&text[end..one.start], " ", one.old, " ", one.new, " "]);
        end = one.end;
    }
    out.push_str(&text[end..]);
    ANCHOR.replaced(&out, "").into_owned().into()
}
