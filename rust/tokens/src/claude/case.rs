//! Writes a word as the vocabulary has it: with markers for its case, its begin and its end.

use super::classes::Bits;
use super::cover::{BOW, CAPS, EOW, SHIFT};
use crate::cancel;

/// Fewest letters of a word in capitals that gets a marker, in the old vocabulary.
const SHORTEST_CAPS: usize = 4;

/// The case of a word, as its marker says it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Case {
    /// No marker: the letters are unchanged.
    Literal,
    /// Only the first letter is a capital.
    Title,
    /// All letters are capitals.
    Caps,
}

/// Appends `word` with its markers to `out`; `caps` says whether the vocabulary has the marker for all capitals.
pub fn mark(word: &str, caps: bool, out: &mut Vec<u8>) {
    let case = if word.is_ascii() { ascii_case(word.as_bytes(), caps) } else { case(word, caps) };
    match case {
        Case::Literal => {}
        Case::Title => out.push(SHIFT),
        Case::Caps => out.push(CAPS),
    }
    out.push(BOW);
    if case == Case::Literal {
        out.extend_from_slice(word.as_bytes());
    } else if word.is_ascii() {
        out.extend(word.bytes().map(|b| b.to_ascii_lowercase()));
    } else {
        let mut buffer = [0; 4];
        for c in word.chars().flat_map(Lower::of) {
            cancel::poll_at(out.len());
            out.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    out.push(EOW);
}

fn ascii_case(word: &[u8], caps: bool) -> Case {
    if !word[0].is_ascii_uppercase() {
        return Case::Literal;
    }
    let capitals = word.iter().filter(|b| b.is_ascii_uppercase()).count();
    if caps && capitals == word.len() && word.len() >= SHORTEST_CAPS {
        Case::Caps
    } else if capitals == 1 {
        Case::Title
    } else {
        Case::Literal
    }
}

fn case(word: &str, caps: bool) -> Case {
    let Some(first) = word.chars().next() else { return Case::Literal };
    // A word that begins with a stray mark has no first letter, and the capital sharp s is never lower-cased.
    if Bits::of(first).is_stray() || word.contains('\u{1E9E}') {
        return Case::Literal;
    }
    let dotted = word.contains('\u{130}');
    let (mut letters, mut upper, mut blocked) = (0, 0, dotted);
    for c in word.chars() {
        let bits = Bits::of(c);
        cancel::poll_at(letters);
        letters += 1;
        upper += usize::from(bits.is_upper() && c != '\u{130}');
        // A letter without case, or a title-case one, excludes the marker for all capitals.
        blocked |= bits.is_lower() || (bits.is_letter() && !bits.is_upper());
    }
    if caps && upper > 0 && !blocked && letters >= SHORTEST_CAPS {
        Case::Caps
    } else if upper == 1 && first != '\u{130}' && Bits::of(first).is_upper() {
        Case::Title
    } else {
        Case::Literal
    }
}

/// Lower-cases as Claude does: U+0130 and U+03F4 do not change.
struct Lower;

impl Lower {
    fn of(c: char) -> impl Iterator<Item = char> {
        let kept = matches!(c, '\u{130}' | '\u{3F4}');
        let lower = if kept { None } else { Some(c.to_lowercase()) };
        lower.into_iter().flatten().chain(kept.then_some(c))
    }
}
