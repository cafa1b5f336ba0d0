//! Calls that read a file, and which of their results a newer read made old.

use std::collections::HashMap;

use super::{Ledger, RowFlag, UNPAIRED, digest};
use crate::json::{Json, Tape};
use crate::node::{Node, Shape, Text, write_json};

/// Names of tools that give back a file's content, in small letters and without what parts words; a server's name in front,
/// as in `mcp__files__read_file`, does not count.
const READS: &[&str] = &[
    "read",
    "readfile",
    "readtextfile",
    "fileread",
    "fsread",
    "readnotebook",
    "notebookread",
    "openfile",
    "catfile",
    "view",
    "viewfile",
];

/// Tools that read where their argument `command` says `view`, and edit else.
const EDITORS: &[&str] = &["strreplacebasededittool", "strreplaceeditor", "strreplaceeditortool"];

/// The argument that names the file.
const PATHS: &[&str] =
    &["file_path", "path", "filePath", "absolute_path", "target_file", "notebook_path", "filename", "file"];

/// A call that reads a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The call's row.
    pub row: u32,
    /// Digest of the file's path, as the call has it.
    pub file: [u8; 16],
    /// Digest of which part of the file is asked for.
    pub part: [u8; 16],
    /// Whether no part is: the whole file, or as much as the tool gives.
    pub whole: bool,
}

/// Whether a call of `name` may read a file: its arguments tell.
#[must_use]
pub fn may_read(name: &str) -> bool {
    let name = own(name);
    // Most tools begin like none of these.
    let begins = |known: &&str| {
        name.bytes().next().is_some_and(|b| !b.is_ascii_alphanumeric() || known.as_bytes()[0] == b.to_ascii_lowercase())
    };
    EDITORS.iter().chain(READS).any(begins) && (is_one(name, EDITORS) || is_one(name, READS))
}

/// A tool's name without its server.
fn own(name: &str) -> &str {
    // `rsplit` makes ready for a long search, which takes longer than a name.
    let server = name.as_bytes().windows(2).rposition(|two| two == b"__").map_or(0, |at| at + 2);
    &name[server..]
}

/// The file that a call of `name` with these arguments, a JSON object, reads; `None` where it reads none that can be told.
#[must_use]
pub fn read(row: u32, name: &str, arguments: &str, tape: &mut Tape) -> Option<Read> {
    if !may_read(name) {
        return None;
    }
    let edits = is_one(own(name), EDITORS);
    tape.parse(arguments, 0).ok()?;
    let (mut file, mut views, mut rest) = (None, !edits, String::new());
    let seen =
        Json::new(&tape.of(arguments)).entries(
            &mut |key, value| match value.text()?.as_ref().map(Text::text).as_deref() {
                Some(path) if file.is_none() && PATHS.contains(&key) && !path.is_empty() => {
                    file = Some(digest(path.as_bytes()));
                    Ok(())
                }
                Some("view") if edits && key == "command" => {
                    views = true;
                    Ok(())
                }
                _ if value.shape() == Shape::Null => Ok(()),
                _ => {
                    rest.extend([key, "\0"]);
                    write_json(&value, &mut rest, None)
                }
            },
        );
    seen.ok()?;
    let (part, whole) = (digest(rest.as_bytes()), rest.is_empty());
    file.filter(|_| views).map(|file| Read { row, file, part, whole })
}

/// Whether a name is one of these, however it is written.
fn is_one(name: &str, of: &[&str]) -> bool {
    let bare = || name.bytes().filter(|b| !matches!(b, b'_' | b'-' | b' ' | b'.')).map(|b| b.to_ascii_lowercase());
    of.iter().any(|known| bare().eq(known.bytes()))
}

/// For each row, the row of the newest result that made it old, [`UNPAIRED`] for none: it is the result of a read, and the
/// newer one is of the same file, whole or of the same part, and was answered without an error.
///
/// A newer read whose own result was pruned makes nothing old: what it saw is gone.
#[must_use]
pub fn superseded(ledger: &Ledger) -> Vec<i32> {
    let (mut wholes, mut parts) = (HashMap::new(), HashMap::new());
    let mut newest = vec![UNPAIRED; ledger.rows()];
    for read in ledger.reads.iter().rev() {
        let result = ledger.pair[read.row as usize];
        let Ok(row) = usize::try_from(result) else { continue };
        let newer = wholes.get(&read.file).max(parts.get(&(read.file, read.part)));
        newest[row] = newer.copied().unwrap_or(UNPAIRED);
        if !ledger.has(row, RowFlag::Error) && !ledger.has(row, RowFlag::Pruned) {
            parts.entry((read.file, read.part)).or_insert(result);
            if read.whole {
                wholes.entry(read.file).or_insert(result);
            }
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, arguments: &str) -> Option<Read> {
        read(0, name, arguments, &mut Tape::default())
    }

    #[test]
    fn a_read_is_known_by_its_tool_and_its_file() {
        let whole = of("Read", r#"{"file_path": "/a"}"#).unwrap();
        assert!(whole.whole);
        assert_eq!(of("mcp__files__read_file", r#"{"path": "/a", "limit": null}"#), Some(whole));
        assert_eq!(of("str_replace_editor", r#"{"command": "view", "path": "/a"}"#), Some(whole));
        let part = of("Read", r#"{"file_path": "/a", "offset": 3}"#).unwrap();
        assert!(!part.whole && part.file == whole.file && part.part != whole.part);
        assert_ne!(of("Read", r#"{"file_path": "/b"}"#).unwrap().file, whole.file);
    }

    #[test]
    fn what_names_no_file_or_reads_none_is_no_read() {
        for (name, arguments) in [
            ("Bash", r#"{"path": "/a"}"#),
            ("Read", r#"{"query": "/a"}"#),
            ("Read", r#"{"path": 7}"#),
            ("Read", "{\"path\": "),
            ("Read", ""),
            ("str_replace_editor", r#"{"command": "create", "path": "/a"}"#),
        ] {
            assert_eq!(of(name, arguments), None, "{name} {arguments}");
        }
    }
}
