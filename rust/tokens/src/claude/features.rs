//! The features of the estimate: the number of pretokens of each kind in a text.

/// Number of kinds.
pub const KINDS: usize = 38;

const LONG_WORD: usize = 10;
const BEYOND: usize = 11;
const CAPS: usize = 12;
const CAPS_LETTERS: usize = 13;
const MIXED: usize = 14;
const MIXED_LETTERS: usize = 15;
const HUMPS: usize = 16;
const DIGITS: usize = 17;
const MARK: usize = 18;
const SPACED_MARK: usize = 19;
const TWO_MARKS: usize = 20;
const MARKS: usize = 21;
const NEW_MARKS: usize = 22;
const SAME_MARKS: usize = 23;
const LONE_SPACE: usize = 24;
const SPACES: usize = 25;
const LINE_ENDS: usize = 26;
const MORE_LINE_ENDS: usize = 27;
const TABS: usize = 28;
const FOREIGN: usize = 29;
const FOREIGN_ASCII: usize = 30;
const TWO_BYTES: usize = 31;
const THREE_BYTES: usize = 32;
const IDEOGRAPHS: usize = 33;
const FOUR_BYTES: usize = 34;
const OTHERS: usize = 35;
const DIGIT_TO_LETTER: usize = 36;
const TITLES: usize = 37;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Letter,
    Digit,
    Mark,
    Space,
    Line,
    Tab,
    Ideograph,
    Other,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' => Class::Letter,
        '0'..='9' => Class::Digit,
        ' ' => Class::Space,
        '\n' | '\r' => Class::Line,
        '\t' => Class::Tab,
        _ if c.is_ascii() => Class::Mark,
        '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}' => Class::Ideograph,
        _ if c.is_alphabetic() && c < '\u{10000}' => Class::Letter,
        _ => Class::Other,
    }
}

/// Number of pretokens of each kind in `text`: words of one to eight letters, of up to ten and up to twelve, and so on.
///
/// # Examples
///
/// ```
/// let kinds = trimtab_tokens::claude::features("see the 1234");
/// assert_eq!((kinds[2], kinds[17], kinds[24]), (2, 2, 1)); // words of three letters, groups of digits, written spaces
/// ```
#[must_use]
pub fn features(text: &str) -> [u32; KINDS] {
    let mut kinds = [0; KINDS];
    let mut chars = text.char_indices().peekable();
    let mut before = Class::Space;
    while let Some((at, first)) = chars.next() {
        let kind = class(first);
        let mut end = at + first.len_utf8();
        while let Some((next, c)) = chars.next_if(|(_, c)| class(*c) == kind) {
            end = next + c.len_utf8();
        }
        let after = chars.peek().map_or(Class::Space, |(_, c)| class(*c));
        let (run, length) = (&text[at..end], end - at);
        match kind {
            Class::Letter => {
                kinds[DIGIT_TO_LETTER] += u32::from(before == Class::Digit);
                word(run, &mut kinds);
            }
            Class::Digit => add(&mut kinds[DIGITS], length.div_ceil(3)),
            Class::Mark => marks(run.as_bytes(), before == Class::Space || after == Class::Space, &mut kinds),
            Class::Space if length == 1 => {
                kinds[LONE_SPACE] +=
                    u32::from(before == Class::Digit || after == Class::Digit || after == Class::Ideograph);
            }
            Class::Space => kinds[SPACES] += 1,
            Class::Line => {
                kinds[LINE_ENDS] += 1;
                add(&mut kinds[MORE_LINE_ENDS], length - 1);
            }
            Class::Tab => kinds[TABS] += 1,
            Class::Ideograph => add(&mut kinds[IDEOGRAPHS], length / 3),
            Class::Other => {
                for c in run.chars() {
                    kinds[if c.len_utf8() == 4 { FOUR_BYTES } else { OTHERS }] += 1;
                }
            }
        }
        before = kind;
    }
    kinds
}

fn add(kind: &mut u32, more: usize) {
    *kind = kind.saturating_add(u32::try_from(more).unwrap_or(u32::MAX));
}

fn word(word: &str, kinds: &mut [u32; KINDS]) {
    if !word.is_ascii() {
        kinds[FOREIGN] += 1;
        for c in word.chars() {
            kinds[[FOREIGN_ASCII, TWO_BYTES, THREE_BYTES][c.len_utf8().min(3) - 1]] += 1;
        }
        return;
    }
    let bytes = word.as_bytes();
    let capitals = bytes.iter().filter(|b| b.is_ascii_uppercase()).count();
    let title = capitals == 1 && bytes[0].is_ascii_uppercase();
    if capitals == 0 || title {
        kinds[TITLES] += u32::from(title);
        match bytes.len() {
            length @ 1..=8 => kinds[length - 1] += 1,
            9 | 10 => kinds[8] += 1,
            11 | 12 => kinds[9] += 1,
            length => {
                kinds[LONG_WORD] += 1;
                add(&mut kinds[BEYOND], length - 12);
            }
        }
    } else if capitals == bytes.len() {
        kinds[CAPS] += 1;
        add(&mut kinds[CAPS_LETTERS], capitals);
    } else {
        kinds[MIXED] += 1;
        add(&mut kinds[MIXED_LETTERS], bytes.len());
        let humps = bytes.windows(2).filter(|pair| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase());
        add(&mut kinds[HUMPS], humps.count());
    }
}

fn marks(run: &[u8], spaced: bool, kinds: &mut [u32; KINDS]) {
    match run.len() {
        1 => kinds[if spaced { SPACED_MARK } else { MARK }] += 1,
        2 => kinds[TWO_MARKS] += 1,
        length => {
            let same = run.windows(2).filter(|pair| pair[0] == pair[1]).count();
            kinds[MARKS] += 1;
            add(&mut kinds[SAME_MARKS], same);
            add(&mut kinds[NEW_MARKS], length - 1 - same);
        }
    }
}
