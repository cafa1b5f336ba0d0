//! Reads a `.model` file: protobuf, whose fields are those of `sentencepiece_model.proto`.

#![allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // pieces have numbers of 32 bits, and few bytes

use std::collections::HashSet;

use super::charsmap::Charsmap;
use super::merge::Merges;
use super::rewrite::{Sentence, Step};
use super::unigram::{self, Unigram};
use super::{Model, Pairs, Parts, SPACE};

/// Kinds of pieces.
const NORMAL: u64 = 1;
const UNKNOWN: u64 = 2;
const USER_DEFINED: u64 = 4;
const UNUSED: u64 = 5;
const BYTE: u64 = 6;

/// Kinds of models: of pieces with scores, of pairs that merge.
const UNIGRAM: u64 = 1;
pub const BPE: u64 = 2;

/// A value of a field.
#[derive(Clone, Copy)]
enum Value<'d> {
    Number(u64),
    Bytes(&'d [u8]),
}

/// The fields of a message; None where it is none.
fn fields(mut data: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut found = Vec::new();
    while !data.is_empty() {
        let tag = varint(&mut data)?;
        let value = match tag & 7 {
            0 => Value::Number(varint(&mut data)?),
            1 => Value::Bytes(taken(&mut data, 8)?),
            2 => {
                let length = usize::try_from(varint(&mut data)?).ok()?;
                Value::Bytes(taken(&mut data, length)?)
            }
            5 => Value::Bytes(taken(&mut data, 4)?),
            _ => return None,
        };
        found.push((tag >> 3, value));
    }
    Some(found)
}

fn varint(data: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = data.split_first()?;
        *data = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

fn taken<'d>(data: &mut &'d [u8], length: usize) -> Option<&'d [u8]> {
    let (bytes, rest) = data.split_at_checked(length)?;
    *data = rest;
    Some(bytes)
}

/// The last number in a field.
fn number(message: &[(u64, Value<'_>)], field: u64, default: u64) -> u64 {
    let found = message.iter().rev().find_map(|&(of, value)| match value {
        Value::Number(number) if of == field => Some(number),
        _ => None,
    });
    found.unwrap_or(default)
}

/// The last bytes in a field.
fn bytes<'d>(message: &[(u64, Value<'d>)], field: u64) -> &'d [u8] {
    let found = message.iter().rev().find_map(|&(of, value)| match value {
        Value::Bytes(bytes) if of == field => Some(bytes),
        _ => None,
    });
    found.unwrap_or_default()
}

/// A piece: its text, its score, its kind.
pub type Piece<'d> = (&'d str, f32, u64);

fn piece(data: &[u8]) -> Option<Piece<'_>> {
    let message = fields(data)?;
    let score = bytes(&message, 2).try_into().map_or(0.0, f32::from_le_bytes);
    Some((std::str::from_utf8(bytes(&message, 1)).ok()?, score, number(&message, 3, NORMAL)))
}

/// The parts of a file; None where it is no model.
///
/// # Errors
///
/// Says what is not known.
pub fn read(data: &[u8]) -> Result<Option<Parts>, String> {
    let Some(file) = fields(data) else { return Ok(None) };
    let pieces = file.iter().filter_map(|&(field, value)| match value {
        Value::Bytes(bytes) if field == 1 => Some(piece(bytes)),
        _ => None,
    });
    let Some(pieces) = pieces.collect::<Option<Vec<_>>>().filter(|pieces| !pieces.is_empty()) else { return Ok(None) };
    let (Some(trainer), Some(normalizer)) = (fields(bytes(&file, 2)), fields(bytes(&file, 3))) else { return Ok(None) };
    let rules = match bytes(&normalizer, 2) {
        [] => None,
        rules => Some(Charsmap::read(rules).ok_or("a SentencePiece model whose rules for characters are damaged")?),
    };
    let settings = Settings {
        kind: number(&trainer, 3, 1),
        bytes: number(&trainer, 35, 0) != 0,
        sentence: Sentence {
            rules,
            whole: Vec::new(),
            prefix: number(&normalizer, 3, 1) != 0,
            suffix: number(&trainer, 24, 0) != 0,
            strips: number(&normalizer, 4, 1) != 0,
            escapes: number(&normalizer, 5, 1) != 0,
        },
        again: false,
    };
    parts(&pieces, settings).map(Some)
}

/// The settings of a file, which stand beside its pieces.
pub struct Settings {
    /// The kind of the model.
    pub kind: u64,
    /// Whether a character without a token is the tokens of its bytes.
    pub bytes: bool,
    /// How texts are rewritten; the texts that no rule changes are those of the pieces.
    pub sentence: Sentence,
    /// Whether a space is put behind a whole text too.
    pub again: bool,
}

/// A vocabulary of pieces.
///
/// # Errors
///
/// Says what is not known.
pub fn parts(pieces: &[Piece<'_>], settings: Settings) -> Result<Parts, String> {
    let wrong = |why: &str| format!("a SentencePiece model that {why}: not known");
    let of_kind = |kind: u64| pieces.iter().filter(move |piece| piece.2 == kind).map(|piece| piece.0);
    let bytes = of_kind(BYTE).count();
    if settings.bytes && bytes != 256 {
        return Err(wrong("has no tokens for bytes"));
    }
    if !settings.bytes && bytes > 0 {
        return Err(wrong("has tokens for bytes and does not use them"));
    }
    if pieces.iter().any(|piece| piece.1.is_nan()) {
        return Err(wrong("has pieces without a score"));
    }
    let whole: Vec<String> = of_kind(USER_DEFINED).map(str::to_owned).collect();
    if whole.iter().any(String::is_empty) {
        return Err(wrong("has a whole text that is empty"));
    }
    let model = match settings.kind {
        UNIGRAM => Model::Unigram(unigram(pieces, settings.bytes).map_err(wrong)?),
        BPE => Model::Merges(pairs(pieces, &settings).map_err(wrong)?),
        _ => return Err(wrong("has words or characters alone")),
    };
    let sentence = Sentence { whole, ..settings.sentence };
    Ok(Parts { steps: vec![Step::Sentence(sentence)], model })
}

fn unigram(pieces: &[Piece<'_>], bytes: bool) -> Result<Unigram, &'static str> {
    let mut different = HashSet::new();
    let in_texts = |piece: &&Piece<'_>| matches!(piece.2, NORMAL | USER_DEFINED | UNUSED);
    if pieces.iter().filter(|piece| piece.2 == UNKNOWN).count() != 1 {
        return Err("has not one piece for unknown characters");
    }
    if pieces.iter().any(|piece| piece.0.is_empty() || piece.0.contains('\0'))
        || !pieces.iter().filter(in_texts).all(|piece| different.insert(piece.0))
    {
        return Err("contradicts itself");
    }
    let scores = pieces.iter().filter(|piece| piece.2 == NORMAL).map(|piece| piece.1);
    let worst = scores.fold(f32::MAX, f32::min);
    // A whole text is worth more than most texts, a long one more than a short one.
    let bonus = |text: &str| f64::from((text.len() as f64 * 0.1 - 0.1) as f32);
    let used: Vec<(&str, f64)> = pieces
        .iter()
        .filter(|piece| matches!(piece.2, NORMAL | USER_DEFINED))
        .map(|&(text, score, kind)| (text, if kind == USER_DEFINED { bonus(text) } else { f64::from(score) }))
        .collect();
    let unknown = f64::from(Unigram::unknown(f64::from(worst)) as f32);
    let settings = unigram::Settings { single: true, bytes, unknown, ..unigram::Settings::default() };
    Unigram::new(&used, settings).ok_or("has too many pieces")
}

fn pairs(pieces: &[Piece<'_>], settings: &Settings) -> Result<Pairs, &'static str> {
    let of_kind = |kind: u64| pieces.iter().filter(move |piece| piece.2 == kind).map(|piece| piece.0);
    if !settings.bytes {
        return Err("has no tokens for bytes");
    }
    if of_kind(UNUSED).next().is_some() {
        return Err("has pieces that it does not use");
    }
    if of_kind(USER_DEFINED).any(|text| text.contains([' ', SPACE])) {
        return Err("has a whole text with a space");
    }
    if settings.sentence.prefix && settings.again && of_kind(USER_DEFINED).next().is_some() {
        return Err("puts spaces behind whole texts");
    }
    let whole = of_kind(USER_DEFINED).map(str::to_owned).collect();
    let known: HashSet<&str> = of_kind(NORMAL).collect();
    let mut scores: Vec<f32> = pieces.iter().map(|piece| piece.1).collect();
    scores.sort_by(|one, other| other.total_cmp(one));
    scores.dedup();
    let pairs = pieces.iter().filter(|piece| piece.2 == NORMAL).flat_map(|&(text, score, _)| {
        let rank = scores.partition_point(|other| *other > score) as u32;
        let splits = text.char_indices().skip(1).map(move |(at, _)| text.split_at(at));
        let known = &known;
        splits
            .filter(move |(left, right)| is_symbol(left, known) && is_symbol(right, known))
            .map(move |(left, right)| (left, right, rank))
    });
    let merges = Merges::new(known.iter().copied(), pairs).ok_or("contradicts itself")?;
    Ok(Pairs::new(whole, merges))
}

/// Whether a text can be a symbol while pairs merge: a piece, or a character.
fn is_symbol(text: &str, known: &HashSet<&str>) -> bool {
    known.contains(text) || text.chars().count() == 1
}
