//! What a text goes through before it is split: rules for characters, spaces as `▁`, one in front.

use std::borrow::Cow;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

use super::SPACE;
use super::charsmap::{Charsmap, Plain};
use crate::cancel;

/// A step, as a file says it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// A text in the place of another one, wherever that stands.
    Replace(String, String),
    /// A text in the place of two and more spaces.
    Spaces(String),
    /// Rules of characters, applied to clusters of these as the package `tokenizers` does.
    Clusters(Charsmap),
    /// No white space at the beginning, at the end.
    Strip(bool, bool),
    /// A text in front of one that is not empty.
    Prepend(String),
    /// Each word begins with `▁`, and white space is nothing else.
    Words,
    /// Spaces are `▁`, and the text begins with one: if it says so.
    Metaspace(bool),
    /// The one step of a `.model`.
    Sentence(Sentence),
}

/// How `SentencePiece` rewrites a text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // as its files have them
pub struct Sentence {
    pub rules: Option<Charsmap>,
    /// Texts that no rule changes.
    pub whole: Vec<String>,
    /// A space is put in front of a text.
    pub prefix: bool,
    /// That space is put behind the text.
    pub suffix: bool,
    /// Spaces at the beginning and at the end go, and of several only one stays.
    pub strips: bool,
    /// Spaces are `▁`.
    pub escapes: bool,
}

/// A step, with what is looked up while it is taken.
#[derive(Clone, Debug)]
pub struct Ready {
    step: Step,
    plain: Option<Plain>,
}

/// A rewritten text.
pub struct Rewritten<'t> {
    /// Itself.
    pub text: Cow<'t, str>,
    /// For each of its bytes the bytes of the original text that it stands for; empty unless they were asked for.
    pub places: Vec<Range<usize>>,
}

/// A text that is being written, with the places of its bytes in the original one.
struct Output<'t> {
    text: String,
    places: Vec<Range<usize>>,
    /// The text that it is made of.
    input: &'t str,
    /// The places of the bytes of that text; None where nobody wants to know.
    before: Option<&'t [Range<usize>]>,
}

impl Output<'_> {
    /// Adds a part of the input as it is.
    fn copy(&mut self, range: Range<usize>) {
        self.text.push_str(&self.input[range.clone()]);
        if let Some(before) = self.before {
            self.places.extend_from_slice(&before[range]);
        }
    }

    /// Adds a text in the place of a part of the input.
    fn put(&mut self, text: &str, range: Range<usize>) {
        self.text.push_str(text);
        if let Some(before) = self.before {
            let place = match before.get(range.clone()) {
                Some([only]) => only.clone(),
                Some([first, .., last]) => first.start..last.end,
                _ => {
                    let start = before.get(range.start).map(|place| place.start);
                    let start = start.or_else(|| before.last().map(|place| place.end)).unwrap_or_default();
                    start..start
                }
            };
            self.places.extend(std::iter::repeat_n(place, text.len()));
        }
    }

    fn truncate(&mut self, length: usize) {
        self.text.truncate(length);
        self.places.truncate(length);
    }
}

impl Ready {
    /// Prepares a step.
    pub fn new(step: Step) -> Self {
        let plain = match &step {
            Step::Clusters(rules) => Some(Plain::new(Some(rules), |_| false)),
            Step::Sentence(sentence) => {
                let begins = |byte| sentence.whole.iter().any(|text| text.as_bytes().first() == Some(&byte));
                Some(Plain::new(sentence.rules.as_ref(), |byte| byte == b' ' || begins(byte)))
            }
            _ => None,
        };
        Self { step, plain }
    }

    /// Takes the step; a text that it does not change is not copied.
    fn take<'t>(&self, text: &'t str, before: Option<&'t [Range<usize>]>) -> Option<(String, Vec<Range<usize>>)> {
        if !self.changes(text)? {
            return None;
        }
        let (written, places) = (String::with_capacity(text.len() + text.len() / 2 + 8), Vec::new());
        let mut output = Output { text: written, places, input: text, before };
        match &self.step {
            Step::Replace(old, new) => replace(&mut output, text.match_indices(&**old), new),
            Step::Spaces(new) => replace(&mut output, runs_of_spaces(text), new),
            Step::Clusters(rules) => self.clusters(rules, &mut output),
            Step::Strip(left, right) => {
                let start = if *left { text.len() - text.trim_start().len() } else { 0 };
                let end = if *right { text.trim_end().len().max(start) } else { text.len() };
                output.copy(start..end);
            }
            Step::Prepend(prefix) => {
                output.put(prefix, 0..0);
                output.copy(0..text.len());
            }
            Step::Words => words(&mut output),
            Step::Metaspace(prefix) => {
                if *prefix && !text.starts_with([' ', SPACE]) {
                    output.put("▁", 0..0);
                }
                replace(&mut output, text.match_indices(' '), "▁");
            }
            Step::Sentence(sentence) => self.sentence(sentence, &mut output),
        }
        Some((output.text, output.places))
    }

    /// Whether the step may change a text; None for an empty one, which none does.
    fn changes(&self, text: &str) -> Option<bool> {
        (!text.is_empty()).then(|| match &self.step {
            Step::Replace(old, _) => text.contains(&**old),
            Step::Spaces(_) => text.contains("  "),
            Step::Strip(..) => text.trim().len() < text.len(),
            _ => true,
        })
    }

    fn run(&self, text: &[u8]) -> usize {
        self.plain.as_ref().map_or(0, |plain| plain.run(text))
    }

    fn clusters(&self, rules: &Charsmap, output: &mut Output<'_>) {
        let (text, mut start) = (output.input, 0);
        let bytes = text.as_bytes();
        while start < text.len() {
            cancel::poll();
            let plain = self.run(&bytes[start..]);
            output.copy(start..start + plain);
            start += plain;
            // A cluster ends between two ASCII characters that are no line end.
            let is_end = |&end: &usize| {
                let two = [bytes[end - 1], bytes[end]];
                two.is_ascii() && two != *b"\r\n"
            };
            let end = (start + 1..text.len()).find(is_end).unwrap_or(text.len());
            for cluster in text.get(start..end).unwrap_or_default().graphemes(true) {
                rules.rewrite(cluster, &mut |length, new| {
                    match new {
                        Some(new) => output.put(new, start..start + length),
                        None => output.copy(start..start + length),
                    }
                    start += length;
                });
            }
        }
    }

    fn sentence(&self, sentence: &Sentence, output: &mut Output<'_>) {
        let (text, mut start) = (output.input, 0);
        let space = if sentence.escapes { "▁" } else { " " };
        while sentence.strips && start < text.len() {
            let (length, new) = sentence.next(&text[start..]);
            if new.unwrap_or(&text[start..start + length]) != " " {
                break;
            }
            start += length;
        }
        if start == text.len() {
            return;
        }
        if sentence.prefix && !sentence.suffix {
            output.put(space, start..start);
        }
        let mut skips = sentence.strips;
        while start < text.len() {
            cancel::poll();
            let plain = self.run(&text.as_bytes()[start..]);
            if plain > 0 {
                output.copy(start..start + plain);
                (start, skips) = (start + plain, false);
                continue;
            }
            let (length, new) = sentence.next(&text[start..]);
            let range = start..start + length;
            let new = new.unwrap_or(&text[range.clone()]);
            let new = if skips { new.trim_start_matches(' ') } else { new };
            for (number, part) in new.split(' ').enumerate() {
                if number > 0 {
                    output.put(space, range.clone());
                }
                output.put(part, range.clone());
            }
            if !new.is_empty() {
                skips = sentence.strips && new.ends_with(' ');
            }
            start += length;
        }
        if sentence.strips {
            output.truncate(output.text.trim_end_matches(space).len());
        }
        if sentence.prefix && sentence.suffix {
            output.put(space, text.len()..text.len());
        }
    }
}

impl Sentence {
    /// Bytes at the beginning of a text, and what stands in their place; None for themselves.
    fn next(&self, text: &str) -> (usize, Option<&str>) {
        let whole = self.whole.iter().filter(|whole| text.starts_with(&***whole)).map(String::len).max();
        if let Some(length) = whole {
            return (length, None);
        }
        match self.rules.as_ref().and_then(|rules| rules.longest(text.as_bytes())) {
            Some((length, new)) if text.is_char_boundary(length) => (length, Some(new)),
            _ => (text.chars().next().map_or(0, char::len_utf8), None),
        }
    }
}

/// Writes `new` in the place of each match.
fn replace<'t>(output: &mut Output<'t>, matches: impl Iterator<Item = (usize, &'t str)>, new: &str) {
    let mut done = 0;
    for (start, old) in matches {
        output.copy(done..start);
        done = start + old.len();
        output.put(new, start..done);
    }
    output.copy(done..output.input.len());
}

/// The runs of two and more spaces.
fn runs_of_spaces(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        start += text[start..].find("  ")?;
        let length = text.len() - start - text[start..].trim_start_matches(' ').len();
        let run = &text[start..start + length];
        start += length;
        Some((start - length, run))
    })
}

fn words(output: &mut Output<'_>) {
    let text = output.input;
    let mut start = 0;
    for word in text.split(char::is_whitespace) {
        if !word.is_empty() {
            if !word.starts_with(SPACE) {
                output.put("▁", start..start);
            }
            output.copy(start..start + word.len());
        }
        start += word.len();
        start += text[start..].chars().next().map_or(0, char::len_utf8);
    }
}

/// The text that comes out of all steps.
pub fn rewritten<'t>(steps: &[Ready], text: &'t str) -> Cow<'t, str> {
    let mut now = Cow::Borrowed(text);
    for step in steps {
        if let Some((text, _)) = step.take(&now, None) {
            now = Cow::Owned(text);
        }
    }
    now
}

/// The text that comes out of all steps, with the place of each of its bytes in the original one.
pub fn traced<'t>(steps: &[Ready], text: &'t str) -> Rewritten<'t> {
    let characters = text.char_indices();
    let places = characters.flat_map(|(start, character)| {
        let width = character.len_utf8();
        std::iter::repeat_n(start..start + width, width)
    });
    let mut now = Rewritten { text: Cow::Borrowed(text), places: places.collect() };
    for step in steps {
        if let Some((text, places)) = step.take(&now.text, Some(&now.places)) {
            now = Rewritten { text: Cow::Owned(text), places };
        }
    }
    now
}
