//! Whether whoever goes on has to know a sentence of the user, by a linear model over its words and pieces of words.
//!
//! `make worth` learns the weights from the sentences in `tools/worth/`, whose README says what they are.

use super::numbers::float;
use super::pattern::is_word;
use super::text::is_decimal;

/// Number of the weights.
const SIZE: usize = 1 << 16;
/// The weights, a signed byte each.
static WEIGHTS: &[u8; SIZE] = include_bytes!("learned.bin");
/// The weight that stands for one.
const UNIT: f64 = 16.0;
/// What a mark of a sentence counts, of which its pieces together count the root of their number.
const MARK: f64 = 0.5;
/// The first character of the scripts whose words have no blanks between, or endings for what stands between them.
pub const WIDE: char = '\u{2E80}';
/// Characters of the pieces of a word, its ends included, and of those of a wide one.
const PIECES: [std::ops::RangeInclusive<usize>; 2] = [3..=5, 1..=3];

/// Evidence that a sentence has to be known: the logarithm of its odds, if half of all sentences had to be.
///
/// `marks` are what is known of it beside its words.
pub fn learned<'m>(text: &str, marks: impl Iterator<Item = &'m str>) -> f64 {
    let mut pieces = Sum::default();
    let small = lowered(text);
    let (mut before, mut whole) = (None, Vec::new());
    for (number, word) in small.split(|c| !is_word(c)).filter(|one| !one.is_empty()).enumerate() {
        if word.contains(|c| c >= WIDE) {
            pieces.add_pieces(word.chars(), PIECES[1].clone());
            before = None;
            continue;
        }
        pieces.add(hash('w', [word]));
        if number == 0 {
            pieces.add(hash('f', [word]));
        }
        if let Some(before) = before {
            pieces.add(hash('b', [before, " ", word]));
        }
        before = Some(word);
        if word.is_ascii() {
            pieces.add_ascii(word.as_bytes(), &mut whole);
        } else {
            pieces.add_pieces(std::iter::once('<').chain(word.chars()).chain(['>']), PIECES[0].clone());
        }
    }
    let mut marked = Sum::default();
    marks.for_each(|mark| marked.add(hash('d', [mark])));
    (float(pieces.sum) / float(pieces.number.max(1)).sqrt() + MARK * float(marked.sum)) / UNIT
}

/// A text in lower case, with a zero for each digit.
fn lowered(text: &str) -> String {
    if text.is_ascii() {
        let lower = |byte: u8| if byte.is_ascii_digit() { '0' } else { char::from(byte.to_ascii_lowercase()) };
        return text.bytes().map(lower).collect();
    }
    text.to_lowercase().chars().map(|c| if is_decimal(c) { '0' } else { c }).collect()
}

/// The weights of what was added, together.
#[derive(Default)]
struct Sum {
    sum: i64,
    number: i64,
}

impl Sum {
    fn add(&mut self, hash: u32) {
        let place = (hash ^ (hash >> 16)) as usize % SIZE;
        self.sum += i64::from(WEIGHTS[place].cast_signed());
        self.number += 1;
    }

    /// Adds the pieces of a word of ASCII, which most are, by its bytes; `whole` is room for it with its ends.
    fn add_ascii(&mut self, word: &[u8], whole: &mut Vec<u8>) {
        whole.clear();
        whole.push(b'<');
        whole.extend_from_slice(word);
        whole.push(b'>');
        let (start, [sizes, _]) = (hash('c', []), &PIECES);
        for from in 0..whole.len() {
            let piece = whole[from..].iter().take(*sizes.end());
            let mut state = start;
            for (at, byte) in piece.enumerate() {
                state = with_byte(state, *byte);
                if at + 1 >= *sizes.start() {
                    self.add(state);
                }
            }
        }
    }

    /// Adds the pieces of a word of so many characters.
    fn add_pieces(&mut self, word: impl Iterator<Item = char> + Clone, sizes: std::ops::RangeInclusive<usize>) {
        let mut from = word;
        loop {
            let mut state = hash('c', []);
            let mut size = 0;
            for c in from.clone().take(*sizes.end()) {
                state = with(state, c.encode_utf8(&mut [0; 4]));
                size += 1;
                if sizes.contains(&size) {
                    self.add(state);
                }
            }
            if from.next().is_none() {
                break;
            }
        }
    }
}

/// The FNV-1a hash of a kind and texts.
fn hash<const N: usize>(kind: char, texts: [&str; N]) -> u32 {
    texts.into_iter().fold(with(0x811C_9DC5, kind.encode_utf8(&mut [0; 4])), with)
}

fn with(state: u32, text: &str) -> u32 {
    text.bytes().fold(state, with_byte)
}

fn with_byte(state: u32, byte: u8) -> u32 {
    (state ^ u32::from(byte)).wrapping_mul(0x0100_0193)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_ascii_has_the_same_pieces_either_way() {
        for word in ["a", "of", "never", "pier_14", "0000000"] {
            let (mut fast, mut slow) = (Sum::default(), Sum::default());
            fast.add_ascii(word.as_bytes(), &mut Vec::new());
            slow.add_pieces(std::iter::once('<').chain(word.chars()).chain(['>']), PIECES[0].clone());
            assert_eq!((fast.sum, fast.number), (slow.sum, slow.number), "{word}");
        }
    }

    #[test]
    fn what_has_to_be_known_has_more_evidence_than_chatter() {
        for (known, chatter) in [
            ("The locker's code is 4471.", "We had 34 degrees on Sunday."),
            ("Nothing goes out before Ruth has read it.", "I must be getting old."),
            ("Die Rechnung geht an Frau Weber.", "Heute regnet es schon wieder."),
        ] {
            let evidence = |text| learned(text, std::iter::empty());
            assert!(evidence(known) > evidence(chatter), "{known}");
        }
    }
}
