//! The lines of a tool's result that report a failure.

use std::borrow::Cow;

use super::part::Part;
use super::pattern::{head, length, pattern, words};
use super::text::{clean, is_code};

pattern!(
    /// A part of what [`FAULT`] and [`SURE`] match. No `s`: its other lower case letter is not that of `str.lower`.
    SUSPECT = r"(?i)error|fail|exception|panic|fatal|traceback|cannot|not found|denied|undefined|unable|err!|uch file",
    r"|egmentation fault|core dumped|not recogni",
);
pattern!(
    FAULT = r"(?i)\b(?:\w*error(?:\[\w+\])?|\w*exception|panic|fatal|traceback|fail(?:ed|ure)?|cannot|unable",
    r"|denied|not found|undefined)\b",
);
pattern!(
    /// Messages of shells, make and npm, which stand anywhere in a line.
    SURE = r"(?i)\b(?:command not found|no such file or directory|permission denied|segmentation fault|core dumped",
    r"|is not recognized as)\b|^npm err!|^\S*make\S* \*\*\* .*\berror \d+",
);
pattern!(
    /// "Fail" as the verb of a sentence: of what may happen, not of what did.
    TELLS = r"[a-z] fail(?: [a-z]|[.,])"
);
pattern!(DENIED = r"(?i)\b(?:0|no) $");
pattern!(
    /// A line of a listing, of a diff or of a program, an echoed command, a path, a heading, a passed test, and a field without
    /// a value.
    LISTED = r#"^(?:\s*\d+(?:→|\t)|[+-]|\s+[+-]\s|\s*[$>]\s|\S+[:-]\d+[:-]\s|.*[{;,]\s*$|.*["'`],\s*$"#,
    r"|\s*(?:#{1,6} |\(pass\) |echo |\*\*|\? )|\s*[\w@~.-]*/[\w@~./-]*\s*$",
    r"|\s*[Ee]rrors?: ?\(?(?:none|null|0|false)\)?\s*$)",
);
pattern!(
    /// A compiler's message, which has the form of a line that a search lists.
    LOCATED = r"^[^\s:]+(?::\d+)+: (?:fatal )?error\b"
);

/// Most error lines of a result: later ones repeat them.
const MOST: usize = 12;

impl Part {
    /// The error lines of a result, cleaned.
    pub fn faults(&self) -> &[String] {
        self.faults.get_or_init(|| faults(&self.text))
    }
}

/// The error lines of a text, cleaned.
pub(super) fn faults(text: &str) -> Vec<String> {
    // The only letter whose lower case has two characters, which changes byte offsets.
    let text = if text.contains('İ') { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) };
    let (mut found, mut searched) = (Vec::new(), 0);
    for word in SUSPECT.find_all(&text) {
        if word.start < searched {
            continue;
        }
        let start = text[..word.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[word.start..].find('\n').map_or(text.len(), |at| word.start + at);
        let raw = &text[start..end];
        let is_listed = || LISTED.is_match(raw) && !LOCATED.is_match(raw);
        if (10..=600).contains(&length(raw)) && reports_failure(raw) && !is_listed() {
            let line = clean(raw, 200);
            if !is_code(&line) {
                found.push(line);
                if found.len() == MOST {
                    break;
                }
            }
        }
        searched = end;
    }
    found
}

/// Whether one of a line's first words reports a failure and does not follow "0" or "no", or a program's message does.
pub(super) fn reports_failure(raw: &str) -> bool {
    let start = head(raw, 200);
    let line = words(start).take(6).collect::<Vec<_>>().join(" ");
    let line = TELLS.replaced(&line, " ");
    let mut from = 0;
    while let Some(found) = FAULT.find_from(&line, from) {
        if !DENIED.is_match(&line[..found.start]) {
            return true;
        }
        from = found.start + line[found.start..].chars().next().map_or(1, char::len_utf8);
    }
    SURE.is_match(start)
}
