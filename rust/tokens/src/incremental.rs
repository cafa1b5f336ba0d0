//! Counts the tokens of a growing text.

use crate::counter::scale;
use crate::counter::{Counter, Engine};
use crate::growing::{SectionState, State};

/// Counts a text that arrives in parts, without counting again the prefix that more text cannot change.
///
/// # Examples
///
/// ```
/// use trimtab_tokens::{Counter, Encoding};
///
/// let mut counter = Counter::exact(Encoding::O200k).incremental();
/// counter.append("hello wor");
/// counter.append_bytes(b"ld");
/// assert_eq!(counter.tokens(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct IncrementalCounter {
    counter: Counter,
    state: State,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

impl IncrementalCounter {
    /// Adds text.
    pub fn append(&mut self, text: &str) {
        if !self.begun.is_empty() {
            self.begun.clear();
            self.add("\u{FFFD}");
        }
        self.add(text);
    }

    /// Adds UTF-8, which may end inside a character; invalid UTF-8 counts as U+FFFD.
    pub fn append_bytes(&mut self, bytes: &[u8]) {
        let joined;
        let mut bytes = if self.begun.is_empty() {
            bytes
        } else {
            joined = [&std::mem::take(&mut self.begun), bytes].concat();
            &joined
        };
        loop {
            let error = match std::str::from_utf8(bytes) {
                Ok(text) => return self.add(text),
                Err(error) => error,
            };
            let (text, rest) = bytes.split_at(error.valid_up_to());
            self.add(std::str::from_utf8(text).unwrap_or_default());
            match error.error_len() {
                Some(wrong) => {
                    self.add("\u{FFFD}");
                    bytes = &rest[wrong..];
                }
                None => return self.begun.extend_from_slice(rest),
            }
        }
    }

    fn add(&mut self, text: &str) {
        match &mut self.state {
            State::Tokens(growing) => growing.append(text),
            State::SectionState(sections) => sections.append(text),
            State::Length(chars, length) => *length += chars.length_of(text),
            State::Whole(whole) => whole.push_str(text),
        }
    }

    /// Tokens of the whole text so far, equal to [`Counter::count`].
    pub fn tokens(&mut self) -> usize {
        if !self.begun.is_empty() {
            let mut ended = self.clone();
            ended.append("");
            return ended.tokens();
        }
        let plain = match &mut self.state {
            State::Tokens(growing) => growing.tokens(),
            State::SectionState(sections) => sections.tokens(),
            State::Length(chars, length) => chars.tokens(*length),
            State::Whole(whole) => return self.counter.count(whole),
        };
        scale(plain, self.counter.rate())
    }
}

impl Counter {
    /// A counter of a growing text.
    #[must_use]
    pub fn incremental(&self) -> IncrementalCounter {
        let state = match self.engine {
            Engine::Exact(encoding) => encoding.state(),
            Engine::Length(chars) => State::Length(chars, 0),
            Engine::Claude(claude) if claude.stable_prefix("").is_some() => {
                State::SectionState(SectionState::new(claude))
            }
            Engine::Claude(_) | Engine::SentencePiece(_) | Engine::HuggingFace(_) => State::Whole(String::new()),
        };
        IncrementalCounter { counter: *self, state, begun: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpe::vocabulary::{CL100K, O200K};
    use crate::bpe::worker::with_worker;
    use crate::claude::Claude;
    use crate::growing::PretokenState;

    #[test]
    fn a_growing_text_of_claudes_counts_as_the_whole_and_keeps_no_more_than_its_last_lines() {
        let parts = [
            "word ",
            "AND \u{301}",
            "\n",
            "\n\n  ",
            "中文",
            "\u{301}e",
            "line of some words\n",
            "'s",
            "\u{2019}",
            "x = 1\n",
        ];
        let mut seed = 5_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for (name, claude) in Claude::NAMES {
            let (mut counter, mut whole) = (Counter::claude(claude).incremental(), String::new());
            for _ in 0..300 {
                let part = parts[next(parts.len())].repeat(1 + next(20));
                counter.append(&part);
                whole.push_str(&part);
                if next(3) == 0 {
                    assert_eq!(counter.tokens(), claude.count(&whole), "{name}");
                    let (tokens, limit) = (claude.count(&whole), next(4_000));
                    assert_eq!(claude.exceeds(&whole, limit), tokens > limit, "{name}");
                }
            }
            counter.tokens();
            if let State::SectionState(sections) = &counter.state {
                assert!(whole.len() > 10_000 && sections.open.len() < 8_000, "{}", sections.open.len());
            }
        }
    }

    #[test]
    fn a_growing_text_counts_as_the_whole_at_each_step() {
        let parts = [
            "中", "AAAA", "b", " ", "\n", "  ", "x", "'", "s", "ll", "12", "345", "/", "!", "\u{301}", "é", "word",
            "Foo",
        ];
        let mut seed = 3_u64;
        let mut next = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as usize % below
        };
        for _ in 0..3_000 {
            for vocabulary in [&*O200K, &*CL100K] {
                let (mut growing, mut whole) = (PretokenState::new(vocabulary), String::new());
                for _ in 0..next(30) {
                    let part = parts[next(parts.len())];
                    growing.append(part);
                    whole.push_str(part);
                    let expected = with_worker(vocabulary, |worker| worker.count(whole.as_bytes()));
                    assert_eq!(growing.tokens(), expected, "{whole:?}");
                }
            }
        }
    }
}
