//! The names in a transcript: paths, identifiers, ids, URLs; and how likely each one comes back.

use trimtab_tokens::cancel::poll;
use trimtab_tokens::is_letter;

use super::files::{SUFFIX, longer, root};
use super::line::{float, one_if};
use super::ordered::Ordered;
use super::pattern::{is_word, length, pattern};
use super::text::is_decimal;
use super::words::{Map, Set, runs};

/// The kind of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Path,
    Name,
    Id,
    Url,
    Version,
}

/// The contexts of a name, as bits.
pub mod place {
    /// The user's words.
    pub const USER: u8 = 1;
    /// The assistant's text.
    pub const ASSISTANT: u8 = 1 << 1;
    /// A call's arguments.
    pub const CALLED: u8 = 1 << 2;
    /// The arguments of a call that writes.
    pub const WROTE: u8 = 1 << 3;
    /// An error line.
    pub const FAILED: u8 = 1 << 4;
    /// After the zone.
    pub const AFTER: u8 = 1 << 5;
    /// The caller's instructions.
    pub const ASKED: u8 = 1 << 6;
    /// An earlier summary.
    pub const EARLIER: u8 = 1 << 7;
}
use place::{AFTER, ASKED, ASSISTANT, CALLED, EARLIER, FAILED, USER, WROTE};

pattern!(PATH = r"^(?:~|\.{1,2})?/?(?:[\w.@+%-]+/)+[\w.@+%-]*\w$");
pattern!(INNER = r"[A-Za-z0-9]_+[A-Za-z0-9]|[a-z0-9][A-Z]");
pattern!(UUID = r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$");
pattern!(KEBAB = r"^[A-Za-z]{2}[A-Za-z0-9]*(?:[-.][A-Za-z0-9]+)*-[A-Za-z0-9.]*[A-Za-z0-9]$");
pattern!(VERSION = r"^v?\d+\.\d+\.\d+(?:[-.]?(?:rc|alpha|beta|a|b)\.?\d+)?$");
pattern!(ADDRESS = r"^(?:localhost|\d{1,3}(?:\.\d{1,3}){3}):\d{2,5}$");
pattern!(NUMBERED = r"^#\d{2,6}$");
pattern!(QUOTED = r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(\))?`");

/// File name extensions.
const ENDINGS: [&str; 43] = [
    "py", "pyi", "rs", "go", "ts", "tsx", "js", "jsx", "mjs", "cjs", "json", "jsonl", "md", "toml", "yml", "yaml",
    "sh", "txt", "sql", "html", "css", "scss", "c", "h", "cc", "cpp", "hpp", "java", "kt", "rb", "php", "lock", "cfg",
    "ini", "xml", "csv", "proto", "vue", "svelte", "swift", "ipynb", "log", "env",
];
/// Most characters of a name.
const LONGEST: usize = 160;
/// Words of every transcript that look like names.
const COMMON: [&str; 9] =
    ["GitHub", "GitLab", "JavaScript", "TypeScript", "OpenAI", "PostgreSQL", "macOS", "utf-8", "UTF-8"];
/// Characters that are stripped from the end of a name.
const ENDS: [char; 9] = ['.', ':', ',', '-', '+', '#', '/', '@', '%'];

/// A name and the evidence that it will be needed again.
#[derive(Clone, Debug)]
pub struct Term {
    /// The name; a path relative to the transcript's root.
    pub text: String,
    /// Its kind.
    pub sort: Sort,
    /// Number of messages that contain it.
    pub seen: i64,
    /// Position of the last of them, -1 for an earlier summary, -2 for none.
    pub last: i64,
    /// The contexts it occurred in.
    pub places: u8,
}

/// Adds the names in a run of characters without white space, brackets and quotes, each once.
pub fn names(run: &str, out: &mut Vec<(String, Sort)>) {
    let run = run.trim_end_matches(ENDS).trim_start_matches([':', ',', '+', '%', '@']);
    if !(4..=LONGEST).contains(&length(run)) || COMMON.contains(&run) {
        return;
    }
    if run.contains("://") {
        add(run, Sort::Url, out);
    } else if run.contains('/') {
        let (path, rest) = run.split_once(':').unwrap_or((run, ""));
        if PATH.is_match(path) && !path.starts_with("//") {
            let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
            let last = parts.last().copied().unwrap_or_default();
            if (parts.len() > 2 || SUFFIX.is_match(last)) && path.chars().any(is_letter) {
                add(path, Sort::Path, out);
            } else if path.starts_with(is_letter) && last.contains(|c| matches!(c, '_' | '-') || is_decimal(c)) {
                add(path, Sort::Name, out);
            }
        } else if !rest.contains('/') {
            word_names(rest, out);
        }
    } else {
        word_names(run, out);
    }
}

fn word_names(run: &str, out: &mut Vec<(String, Sort)>) {
    if VERSION.is_match(run) {
        return add(run, Sort::Version, out);
    }
    if UUID.is_match(run) || ADDRESS.is_match(run) || NUMBERED.is_match(run) {
        return add(run, Sort::Id, out);
    }
    if KEBAB.is_match(run) && (run.matches('-').count() > 1 || run.contains(|c: char| c.is_ascii_digit())) {
        return add(run, Sort::Name, out);
    }
    let run = if begins_with_file(run) { run.split(':').next().unwrap_or_default() } else { run };
    if is_file(run) {
        return add(run, Sort::Name, out);
    }
    for piece in run.split(|c| !is_word(c)) {
        if is_hex(piece) {
            add(piece, Sort::Id, out);
        } else if is_identifier(piece) {
            add(piece, Sort::Name, out);
        }
    }
}

fn add(name: &str, sort: Sort, out: &mut Vec<(String, Sort)>) {
    match out.iter_mut().find(|(known, _)| known == name) {
        Some(known) => known.1 = sort,
        None => out.push((name.to_owned(), sort)),
    }
}

/// Whether a name is that of a file, by its ending.
fn is_file(name: &str) -> bool {
    dots(name).any(|ending| ENDINGS.contains(&ending))
}

/// Whether a text begins with the name of a file, whatever follows it.
fn begins_with_file(text: &str) -> bool {
    dots(text).any(|behind| ENDINGS.iter().any(|ending| behind.starts_with(ending)))
}

/// The texts behind each dot inside of the name that a text begins with.
fn dots(text: &str) -> impl Iterator<Item = &str> {
    let end = text.find(|c| !matches!(c, '.' | '-') && !is_word(c)).unwrap_or(text.len());
    let inside = text[..end].match_indices('.').filter(|(at, _)| !text.starts_with('.') && *at > 0);
    inside.map(move |(at, _)| &text[at + 1..])
}

/// Whether a word is the start of a hash: 7 to 64 hexadecimal digits, of which some are letters and some are not.
fn is_hex(word: &str) -> bool {
    (7..=64).contains(&word.len())
        && word.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && word.bytes().any(|b| b.is_ascii_digit())
        && word.bytes().any(|b| b.is_ascii_lowercase())
}

/// Whether a word is a name in a program: 3 to 64 characters with a capital letter or `_` inside.
fn is_identifier(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && (3..=64).contains(&length(word))
        && INNER.is_match(word)
}

/// The names in backticks that would be plain words without them: `Name` and `one.other`.
pub fn quoted<'t>(texts: impl Iterator<Item = &'t str>) -> Set<String> {
    let mut found = Set::default();
    for text in texts.filter(|text| text.contains('`')) {
        for name in QUOTED.all_groups(text).iter().map(|found| found.text(1)) {
            let told = name.contains('.') || name.starts_with(char::is_uppercase);
            let some = (4..64).contains(&length(name)) && told && !["None", "True", "False"].contains(&name);
            if some && !is_file(name) {
                found.insert(name.to_owned());
            }
        }
    }
    found
}

/// Whether a run is a word of prose, in which [`names`] finds nothing: letters, all but the first of which are small.
fn is_prose(run: &str) -> bool {
    let bytes = run.as_bytes();
    bytes[0].is_ascii_alphabetic() && bytes[1..].iter().all(u8::is_ascii_lowercase)
}

/// The terms of a transcript, gathered part by part.
#[derive(Default)]
pub struct Terms {
    /// The folder that paths are relative to.
    pub root: String,
    /// All terms; a renamed path has its new text.
    all: Vec<Term>,
    /// Names in order of occurrence, with their indices in `all`; None for a renamed path.
    found: Vec<Option<(String, usize)>>,
    places: Map<String, usize>,
    quoted: Set<String>,
    /// The known runs, as indices in `runs`.
    known: Map<String, usize>,
    runs: Vec<Run>,
    /// Number of the texts that were read.
    texts: usize,
    moved: Map<String, String>,
}

/// A run that was read.
struct Run {
    /// The indices in `all` of its terms.
    terms: Vec<usize>,
    /// The number of the last text that has it.
    text: usize,
}

impl Terms {
    /// No terms yet; `quoted` are the names in backticks.
    pub fn new(quoted: Set<String>) -> Self {
        Self { quoted, ..Self::default() }
    }

    /// The terms with their indices, in order of occurrence.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Term)> {
        self.found.iter().flatten().map(|(_, at)| (*at, &self.all[*at]))
    }

    /// The term of a name.
    pub fn get(&self, name: &str) -> Option<&Term> {
        let place = self.places.get(name)?;
        self.found[*place].as_ref().map(|(_, at)| &self.all[*at])
    }

    /// The index in `all` of a name's term, which is created if it is missing.
    fn place_of(&mut self, name: &str, sort: Sort) -> usize {
        if let Some((_, at)) = self.places.get(name).and_then(|place| self.found[*place].as_ref()) {
            return *at;
        }
        self.all.push(Term { text: name.to_owned(), sort, seen: 0, last: -2, places: 0 });
        self.list(name, self.all.len() - 1);
        self.all.len() - 1
    }

    fn list(&mut self, name: &str, at: usize) {
        self.places.insert(name.to_owned(), self.found.len());
        self.found.push(Some((name.to_owned(), at)));
    }

    /// A path that one message names, unless it is known.
    pub fn add_path(&mut self, name: &str) {
        if self.get(name).is_none() {
            let at = self.place_of(name, Sort::Path);
            self.all[at].seen = 1;
        }
    }

    /// The indices of the terms in a text, in order, for [`Self::at`].
    pub fn of(&mut self, text: &str) -> Vec<usize> {
        let mut found = self.terms(text);
        for at in &mut found {
            let place = self.places.get(self.now(&self.all[*at].text));
            *at = place.and_then(|place| self.found[*place].as_ref()).map_or(*at, |(_, at)| *at);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// The term at an index.
    pub fn at(&self, index: usize) -> &Term {
        &self.all[index]
    }

    /// The current form of a name, after paths were unified.
    fn now<'s>(&'s self, text: &'s str) -> &'s str {
        let mut text = text;
        while let Some(new) = self.moved.get(text) {
            text = new;
        }
        text
    }

    /// The indices in `all` of the terms of each distinct run of a text.
    fn terms(&mut self, text: &str) -> Vec<usize> {
        let plain = if text.contains('\\') { without_escapes(text) } else { text.into() };
        self.texts += 1;
        let mut found = Vec::new();
        for run in runs(&plain) {
            poll();
            let bare = run.trim_end_matches(ENDS);
            if bare.is_empty() || (is_prose(bare) && !self.quoted.contains(bare)) {
                continue;
            }
            let known = if let Some(known) = self.known.get(run) { *known } else { self.add_run(run) };
            let run = &mut self.runs[known];
            if run.text != self.texts {
                run.text = self.texts;
                found.extend(&run.terms);
            }
        }
        found
    }

    /// Adds a run with its terms; returns its index in `runs`.
    fn add_run(&mut self, run: &str) -> usize {
        let mut held = Vec::new();
        names(run, &mut held);
        let bare = run.trim_matches(ENDS);
        if self.quoted.contains(bare) {
            add(bare, Sort::Name, &mut held);
        }
        let terms = held.into_iter().map(|(name, sort)| self.place_of(&name, sort)).collect();
        self.known.insert(run.to_owned(), self.runs.len());
        self.runs.push(Run { terms, text: 0 });
        self.runs.len() - 1
    }

    /// Counts the names of a text, each once a message.
    pub fn note(&mut self, text: &str, at: i64, places: u8) {
        for place in self.terms(text) {
            let term = &mut self.all[place];
            term.places |= places;
            if term.last != at {
                term.last = at;
                term.seen += 1;
            }
        }
    }

    /// Marks the names of a text outside the zone, without counting it.
    pub fn mark(&mut self, text: &str, places: u8) {
        for place in self.terms(text) {
            self.all[place].places |= places;
        }
    }

    /// Marks the names of a message behind the zone, and those that are parts of its paths and addresses.
    pub fn mark_after(&mut self, text: &str) {
        for place in self.terms(text) {
            let term = &mut self.all[place];
            let is_new = term.places & AFTER == 0;
            term.places |= AFTER;
            if is_new && matches!(term.sort, Sort::Path | Sort::Url) {
                let inside = term.text.replace('/', " ");
                self.mark(&inside, AFTER);
            }
        }
    }

    /// Unifies paths: relative to one root, and a suffix of one longer path becomes that path. Call it last.
    ///
    /// `folders` are the working folders that are known, by how often they were named.
    pub fn settle(&mut self, folders: &Map<String, i64>) {
        let mut paths = Ordered::default();
        for (name, at) in self.found.iter().flatten() {
            if self.all[*at].sort == Sort::Path && self.all[*at].seen > 0 {
                paths.entry(name, || self.all[*at].seen);
            }
        }
        self.root = root(&paths, folders);
        for (path, _) in paths.iter() {
            let new = relative(path, &self.root).to_owned();
            self.rename(path, &new);
        }
        let listed = || self.found.iter().flatten().map(|(name, at)| (name, self.all[*at].sort == Sort::Path));
        // What stands outside the root is another file, whatever its last folders are called.
        let inside = |name: &str| name.contains('/') && (self.root.is_empty() || !name.starts_with('/'));
        let whole: Vec<String> =
            listed().filter(|(name, is_path)| *is_path && inside(name)).map(|(name, _)| name.clone()).collect();
        let short =
            listed().filter(|(name, is_path)| *is_path || is_file(name)).map(|(name, _)| name.clone()).collect();
        for (short, path) in longer(&whole, &short) {
            self.rename(&short, &path);
        }
    }

    /// Renames a term; merges its evidence into an existing term of that name.
    fn rename(&mut self, old: &str, new: &str) {
        let new = self.now(new).to_owned();
        if old == new || new.is_empty() {
            return;
        }
        let Some((_, at)) = self.places.remove(old).and_then(|place| self.found[place].take()) else { return };
        self.all[at].text.clone_from(&new);
        self.moved.insert(old.to_owned(), new.clone());
        let Some(other) = self.places.get(&new).and_then(|place| self.found[*place].as_ref()).map(|(_, at)| *at) else {
            return self.list(&new, at);
        };
        let Term { seen, last, places, .. } = self.all[at];
        let other = &mut self.all[other];
        other.seen += seen;
        other.last = other.last.max(last);
        other.places |= places;
    }

    /// A path as the summary writes it.
    pub fn path(&self, text: &str) -> String {
        self.now(relative(text, &self.root)).to_owned()
    }
}

/// The text with a space in place of each literal `\n`, `\r` and `\t`.
fn without_escapes(text: &str) -> std::borrow::Cow<'_, str> {
    pattern!(ESCAPE = r"\\[nrt]");
    ESCAPE.replaced(text, " ")
}

fn relative<'p>(path: &'p str, root: &str) -> &'p str {
    let inside = path.strip_prefix(root).filter(|_| !root.is_empty()).and_then(|rest| rest.strip_prefix('/'));
    inside.unwrap_or_else(|| path.strip_prefix("./").unwrap_or(path))
}

/// The probability that a term of a zone of this many messages occurs again.
///
/// The weights are those of logistic regressions on the sessions that `evals/recall.py` tunes on, for all names that
/// come back and for those that somebody writes again, between the two and rounded; those of an error line and of the
/// instructions, which those sessions hardly have, are a judgement. A name that only tools gave counts least.
pub fn chance(term: &Term, size: i64) -> f64 {
    let stood = |places: u8| one_if(term.places & places != 0);
    let own = term.places & (USER | ASSISTANT | CALLED | WROTE | ASKED | EARLIER) != 0;
    let often = if own { 1.0 } else { 0.7 };
    let mut logit =
        -2.5 + often * float(1 + term.seen).log2() + 1.4 * float(term.last.max(0)) / float(size) - 0.5 * one_if(!own);
    logit += 1.8 * stood(USER) + 0.6 * stood(ASSISTANT) + 0.3 * stood(CALLED | WROTE);
    logit += 0.2 * stood(FAILED) + 0.9 * stood(AFTER);
    logit -= one_if(term.sort == Sort::Version && !own);
    logit += 0.8 * stood(EARLIER) + 2.0 * stood(ASKED);
    logit += match term.sort {
        Sort::Path => -0.4,
        Sort::Name => 0.0,
        Sort::Id => -0.5,
        Sort::Url => 0.2,
        Sort::Version => -0.7,
    };
    1.0 / (1.0 + (-logit).exp())
}
