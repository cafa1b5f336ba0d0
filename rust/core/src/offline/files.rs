//! The files of a transcript, the operation on each, and the folder that their paths are relative to.

use super::arguments::Value;
use super::line::float;
use super::ordered::Ordered;
use super::part::{Kind, Part};
use super::pattern::{head, length, pattern, strip, words};
use super::tool_runs::{EDITS, WRITES};
use super::words::{Map, Set};

pattern!(PATCHED = r"(?m)^\*\*\* (Add|Update|Delete|Move to)(?: File)?: (.+)$");
pattern!(REMOVED = r"(?:^|[;&|(\n]\s*|\bsudo |\bgit )rm((?: +[\w./~-]+)+)");
pattern!(WRITTEN = r"\b(?:cat|tee)\s*(?:<<-?\s*\S+\s*)?>\s*([\w./~-]+\.\w+)");
pattern!(SEARCHES = r"(?i)grep|glob|search|find|list|tree|\bls\b");
pattern!(FOLDERS = r"<cwd>\s*(/[^<\s]+)|(?:[Ww]orking directory:?|[Ii]nstructions for) *`?(/[\w./@+-]+)");
pattern!(MOVES = r"cd (/[\w./@+-]+) *(?:&&|;)");
pattern!(
    /// Folders that contain projects and are no projects.
    NO_ROOT = r"^/(?:usr|tmp|var|opt|etc|mnt|private|dev|bin|lib|(?:home|Users)(?:/[^/]+)?)$"
);
pattern!(pub SUFFIX = r"[\w-]\.[A-Za-z]\w{0,7}$");

/// The operation on a file, the strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Done {
    Deleted,
    Created,
    Edited,
    Read,
}

impl Done {
    pub const ALL: [Self; 4] = [Self::Deleted, Self::Created, Self::Edited, Self::Read];

    pub fn name(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Created => "created",
            Self::Edited => "edited",
            Self::Read => "read",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// The files of calls, oldest first: path and operation. A search does not count as a read.
pub fn files(parts: &[&Part]) -> Vec<(String, Done)> {
    let mut found = Vec::new();
    for part in parts.iter().filter(|part| part.kind == Kind::Call) {
        for patch in PATCHED.all_groups(&part.text) {
            let done = match patch.text(1) {
                "Update" => Done::Edited,
                "Delete" => Done::Deleted,
                _ => Done::Created,
            };
            found.push((strip(patch.text(2)).to_owned(), done));
        }
        let shell = part.shell();
        for removed in REMOVED.all_groups(shell) {
            let paths = words(removed.text(1)).filter(|word| !word.starts_with('-') && *word != ".");
            found.extend(paths.map(|path| (path.to_owned(), Done::Deleted)));
        }
        found.extend(WRITTEN.all_groups(head(shell, 4_000)).iter().map(|one| (one.text(1).to_owned(), Done::Created)));
        let verb = part.arguments.text("command").unwrap_or_default();
        let how = if matches!(verb, "view" | "create" | "insert" | "str_replace") { verb } else { &part.name };
        for path in
            ["file_path", "path", "notebook_path", "filePath"].into_iter().filter_map(|key| part.arguments.text(key))
        {
            if !path.is_empty() && !SEARCHES.is_match(how) {
                let edits = EDITS.is_match(how);
                let done = if edits {
                    Done::Edited
                } else if WRITES.is_match(how) {
                    Done::Created
                } else {
                    Done::Read
                };
                found.push((path.to_owned(), done));
            }
        }
    }
    found
}

/// The working folders that a transcript names, with their number of mentions.
pub fn folders(parts: &[&Part]) -> Map<String, i64> {
    let mut found: Map<String, i64> = Map::default();
    let mut add = |folder: &str| *found.entry(folder.to_owned()).or_default() += 1;
    for part in parts {
        match part.kind {
            Kind::Call => {
                let told =
                    ["cwd", "workdir", "working_directory"].into_iter().filter_map(|key| part.arguments.text(key));
                told.filter(|folder| folder.starts_with('/')).for_each(|folder| add(folder.trim_end_matches('/')));
                let shell = part.arguments.get("command").or_else(|| part.arguments.get("cmd")).map(Value::words);
                for moved in MOVES.all_groups(head(&shell.unwrap_or_default(), 400)) {
                    add(moved.text(1).trim_end_matches('/'));
                }
            }
            Kind::User | Kind::Note | Kind::Project => {
                for folder in FOLDERS.all_groups(head(&part.text, 20_000)) {
                    let one = if folder.text(1).is_empty() { folder.text(2) } else { folder.text(1) };
                    add(one.trim_end_matches(['/', '.']));
                }
            }
            _ => {}
        }
    }
    found
}

/// The root folder that paths are written relative to; empty if no folder contains half of the absolute paths.
///
/// It is the folder from which most of the relative paths lead to an absolute one, or where commands ran (`named`);
/// without such evidence the longest one that holds 85 % of the absolute paths, or else half of them.
pub fn root(paths: &Ordered<i64>, named: &Map<String, i64>) -> String {
    let (mut votes, mut known): (Map<&str, i64>, Map<&str, i64>) = (Map::default(), Map::default());
    let mut total = 0;
    for (path, seen) in paths.iter().filter(|(path, _)| path.starts_with('/')) {
        total += seen;
        let mut cut = if SUFFIX.is_match(path) { path.rfind('/') } else { Some(path.len()) };
        while let Some(end) = cut.filter(|end| *end > 0) {
            let (folder, rest) = (&path[..end], path.get(end + 1..).unwrap_or_default());
            *votes.entry(folder).or_default() += seen;
            if rest.contains('/') && paths.contains(rest) {
                *known.entry(folder).or_default() += seen;
            }
            cut = folder.rfind('/');
        }
    }
    for (folder, times) in named {
        if let Some((folder, _)) = votes.get_key_value(folder.as_str()) {
            *known.entry(folder).or_default() += 3 * times;
        }
    }
    let half = |folder: &str| 2 * votes[folder] > total && !NO_ROOT.is_match(folder);
    let held: Vec<&str> = votes.keys().copied().filter(|folder| half(folder) || named.contains_key(*folder)).collect();
    let evidence = |folder: &str| known.get(folder).copied().unwrap_or_default();
    let sure = held.iter().any(|folder| evidence(folder) > 0);
    let most = |folder: &str| i64::from(float(votes[folder]) >= 0.85 * float(total));
    let best = held.into_iter().max_by_key(|folder| {
        let first = if sure { evidence(folder) } else { most(folder) };
        (first, length(folder), *folder)
    });
    best.unwrap_or_default().to_owned()
}

/// The short paths and file names that are a suffix of exactly one path, with that path, in order of occurrence.
pub fn longer(paths: &[String], short: &Set<String>) -> Vec<(String, String)> {
    let mut found: Ordered<String> = Ordered::default();
    for path in paths {
        let mut from = path.chars().next().map_or(0, char::len_utf8);
        while let Some(cut) = path[from..].find('/').map(|at| from + at) {
            let rest = &path[cut + 1..];
            if short.contains(rest) {
                let known = found.entry(rest, || rest.to_owned());
                if !known.is_empty() && path.ends_with(known.as_str()) {
                    known.clone_from(path);
                } else if !known.ends_with(path.as_str()) {
                    known.clear();
                }
            }
            from = cut + 1;
        }
    }
    let only_one = found.iter().filter(|(_, path)| !path.is_empty());
    only_one.map(|(rest, path)| (rest.to_owned(), path.clone())).collect()
}
