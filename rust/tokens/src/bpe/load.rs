//! Loads vocabularies from files: a `tokenizer.json`, or a file of ranks with a pattern or of a built-in vocabulary.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use crate::bpe::kept::{Keeper, restored, words_of};
use crate::bpe::patterns::{DIGIT, known};
use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::tables::build::{Merges, bytes_of, in_order, make, merge, ranked, short_enough};
use crate::bpe::tables::{Tables, Whole};
use crate::bpe::vocabulary::{CL100K, O200K, Vocabulary};

/// Files of ranks as their makers publish them, by digest: the pattern stands in the makers' programs, and whether these
/// normalize texts.
const PUBLISHED: [(u128, Pattern, bool); 3] = [
    (0x22e6_ee98_364f_2a1f_e733_9703_bb9e_9d7b, Pattern::Llama3, false), // Llama 3: tokenizer.model
    (0xfd1e_c8f1_9c11_7ba2_d2fc_82da_e963_6e64, Pattern::O200k, false),  // Llama 4: tokenizer.model
    (0xd681_62fb_d6d3_acb3_9f28_8efc_b536_8aab, Pattern::Qwen2, true),   // Qwen: qwen.tiktoken
];

/// The parts of a file: its merges, how it splits texts, whether it normalizes them, and the tokens of [`Tables::whole`].
type Parts = (Merges, Pattern, bool, Option<Whole>);

/// Values made of files, by digest. Each is made once and never freed.
pub struct Kept<T: 'static>(Mutex<Vec<(u128, &'static T)>>);

impl<T> Kept<T> {
    pub const fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// The value of a file. Never blocks: another thread may have held the lock when this process was forked, and a lock
    /// in the child is then never released.
    pub fn get(&self, digest: u128) -> Option<&'static T> {
        self.0.try_lock().ok()?.iter().find(|(of, _)| *of == digest).map(|(_, made)| *made)
    }

    /// Stores the value of a file.
    pub fn keep(&self, digest: u128, made: T) -> &'static T {
        let made = Box::leak(Box::new(made));
        if let Ok(mut kept) = self.0.try_lock() {
            kept.push((digest, made));
        }
        made
    }
}

/// The vocabularies that were loaded.
static READ: Kept<Vocabulary> = Kept::new();

/// The vocabulary of a file; the same file gives the same one.
///
/// `pattern` is the pretokenization pattern; a file of ranks names none. `keeper` has the tables of earlier processes.
pub fn read(
    data: &[u8],
    name: &str,
    pattern: Option<&str>,
    keeper: &dyn Keeper,
) -> Result<&'static Vocabulary, String> {
    let digest = with_pattern(xxh3_128(data), pattern);
    if let Some(vocabulary) = known_by(digest, name, keeper) {
        return Ok(vocabulary);
    }
    let (merges, pattern, normalizes, whole) = if is_json(data) {
        let file: Value = serde_json::from_slice(data).map_err(|error| format!("no tokenizer.json: {error}"))?;
        if file["config"]["pattern"].is_string() { tekken(&file)? } else { tokenizer(&file)? }
    } else {
        let tokens = ranks(data)?;
        let published = PUBLISHED.iter().find(|(of, ..)| *of == xxh3_128(data));
        match (pattern, published) {
            (Some(pattern), _) => by_rank(&tokens, known(&[pattern.to_owned()])?, false)?,
            (None, Some(&(_, pattern, normalizes))) => by_rank(&tokens, pattern, normalizes)?,
            (None, None) => {
                let ours = [&*O200K, &*CL100K].into_iter().find(|ours| ours.tables.vocabulary() == tokens);
                return ours
                    .ok_or_else(|| "a file of ranks does not say how texts are split: give its pattern".to_owned());
            }
        }
    };
    let words = Vec::leak(make(&merges, Some(whole.as_ref().unwrap_or(&Whole::new())))?);
    let mut tables = Tables::read(words);
    tables.whole = whole.map(|whole| &*Box::leak(Box::new(whole)));
    let vocabulary = Vocabulary { name: name.to_owned(), normalizes, pattern, tables };
    if let Some(words) = words_of(digest, &vocabulary, words) {
        keeper.put(digest, &words);
    }
    Ok(READ.keep(digest, vocabulary))
}

/// The vocabulary of a file with this XXH3 digest, if this process or an earlier one has made it.
pub fn known_file(data: u128, name: &str, pattern: Option<&str>, keeper: &dyn Keeper) -> Option<&'static Vocabulary> {
    known_by(with_pattern(data, pattern), name, keeper)
}

fn known_by(digest: u128, name: &str, keeper: &dyn Keeper) -> Option<&'static Vocabulary> {
    READ.get(digest).or_else(|| {
        let vocabulary = restored(keeper.get(digest)?, digest, name)?;
        Some(READ.keep(digest, vocabulary))
    })
}

fn with_pattern(data: u128, pattern: Option<&str>) -> u128 {
    data ^ xxh3_128(pattern.unwrap_or_default().as_bytes()).rotate_left(1)
}

/// Whether a file is JSON: then it should be a `tokenizer.json`.
pub fn is_json(data: &[u8]) -> bool {
    data.trim_ascii_start().first() == Some(&b'{')
}

/// The tokens of a file of ranks, in order.
fn ranks(data: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let wrong = |line: &str| format!("no tokenizer.json and no ranks: {line:?}");
    let text = std::str::from_utf8(data).map_err(|_| "no tokenizer.json and no ranks: not UTF-8".to_owned())?;
    text.lines()
        .zip(0..)
        .map(|(line, number)| {
            match line.split_once(' ').map(|(token, rank)| (STANDARD.decode(token), rank.parse::<usize>())) {
                Some((Ok(token), Ok(rank))) if rank == number => Ok(token),
                _ => Err(wrong(&line.chars().take(60).collect::<String>())),
            }
        })
        .collect()
}

/// The parts of a file of Mistral's, which has ranks and a pattern. It lists more tokens than its vocabulary has: the first ones count,
/// behind the special ones.
fn tekken(file: &Value) -> Result<Parts, String> {
    let config = &file["config"];
    let size = |name: &str| config[name].as_u64().ok_or_else(|| format!("a file of Tekken without {name}"));
    let many = size("default_vocab_size")?.saturating_sub(size("default_num_special_tokens")?);
    let listed = file["vocab"].as_array().ok_or("a file of Tekken without vocab")?;
    let tokens: Result<Vec<Vec<u8>>, String> = listed
        .iter()
        .zip(0..many)
        .map(|(token, rank)| {
            let bytes = token["token_bytes"].as_str().and_then(|bytes| STANDARD.decode(bytes).ok());
            let bytes = bytes.filter(|_| token["rank"].as_u64() == Some(rank));
            bytes.ok_or_else(|| format!("token {rank} is no token of Tekken"))
        })
        .collect();
    let tokens = tokens?;
    if tokens.len() as u64 != many {
        return Err(format!("a file of Tekken with {} tokens of {many}", tokens.len()));
    }
    let pattern = config["pattern"].as_str().unwrap_or_default();
    by_rank(&tokens, known(&[pattern.to_owned()])?, false)
}

/// The parts of a list of tokens by rank. A pretoken that is a token is one, also where no merge makes it, as in tiktoken.
fn by_rank(tokens: &[Vec<u8>], pattern: Pattern, normalizes: bool) -> Result<Parts, String> {
    bytes_of(tokens)?;
    short_enough(tokens)?;
    if let Ok(merges) = ranked(tokens.to_vec()) {
        return Ok((merges, pattern, normalizes, None));
    }
    // A token that the lower ranks do not make may be made with higher ones: every pair of tokens that is a token merges.
    let known: HashSet<&[u8]> = tokens.iter().map(Vec::as_slice).collect();
    let splits = tokens.iter().flat_map(|token| (1..token.len()).map(move |at| token.split_at(at)));
    let pairs = splits.filter(|(left, right)| known.contains(left) && known.contains(right));
    let merges = in_order(&pairs.map(|(left, right)| (left.to_vec(), right.to_vec())).collect::<Vec<_>>(), |_| true)?;
    let made: HashSet<&[u8]> = merges.tokens.iter().map(Vec::as_slice).collect();
    let unmade = tokens.iter().filter(|token| !made.contains(&token[..])).cloned().collect();
    let whole = counted(&merges, unmade)?;
    Ok((merges, pattern, normalizes, Some(whole)))
}

/// The parts of a `tokenizer.json`.
fn tokenizer(file: &Value) -> Result<Parts, String> {
    let model = &file["model"];
    for (key, allowed) in [
        ("type", &[Value::from("BPE"), Value::Null][..]),
        ("byte_fallback", &[Value::Null, false.into()]),
        ("dropout", &[Value::Null]),
        ("continuing_subword_prefix", &[Value::Null, "".into()]),
        ("end_of_word_suffix", &[Value::Null, "".into()]),
    ] {
        if !allowed.contains(&model[key]) {
            return Err(format!(
                "a tokenizer.json whose model has {key} {}: only byte-level pairs are known",
                model[key]
            ));
        }
    }
    let pattern = pattern(&file["pre_tokenizer"])?;
    let normalizes = match &file["normalizer"] {
        Value::Null => false,
        normalizer if normalizer["type"] == "NFC" => true,
        normalizer if normalizer["normalizers"].as_array().is_some_and(Vec::is_empty) => false,
        other => return Err(format!("a tokenizer.json with the normalizer {}: only NFC is known", other["type"])),
    };
    let merges = merges(model)?;
    let whole = if model["ignore_merges"] == true { Some(unreached(&merges, file)?) } else { None };
    Ok((merges, pattern, normalizes, whole))
}

/// The pattern of a pre-tokenizer.
fn pattern(pre: &Value) -> Result<Pattern, String> {
    let alone = [pre.clone()];
    let steps = pre["pretokenizers"].as_array().map_or(&alone[..], Vec::as_slice);
    let (mut patterns, mut bytes) = (Vec::new(), None);
    for step in steps {
        match step["type"].as_str() {
            Some("Split") if bytes.is_none() && (isolates(step) || (steps.len() == 2 && keeps_matches(step))) => {
                let pattern = step["pattern"]["Regex"].as_str().ok_or("a pattern that is no regular expression")?;
                // Some files hold literal line ends.
                patterns.push(pattern.replace('\r', r"\r").replace('\n', r"\n"));
            }
            Some("Digits") if bytes.is_none() && step["individual_digits"] == true => patterns.push(DIGIT.to_owned()),
            Some("ByteLevel") if step["add_prefix_space"] != true => bytes = Some(step["use_regex"] != false),
            _ => return Err(format!("a tokenizer.json with the pre-tokenizer {step}")),
        }
    }
    if bytes != Some(patterns.is_empty()) {
        return Err("a tokenizer.json whose pre-tokenizer is not byte-level, or splits twice".to_owned());
    }
    known(&patterns)
}

/// Whether a step splits a text into matches and what is between them.
fn isolates(step: &Value) -> bool {
    step["behavior"] == "Isolated" && step["invert"] != true
}

/// Whether a step keeps the matches alone. The known patterns of one step match every character.
fn keeps_matches(step: &Value) -> bool {
    step["behavior"] == "Removed" && step["invert"] == true
}

/// The merges of a model, and their tokens: the 256 bytes, then the token of each merge.
fn merges(model: &Value) -> Result<Merges, String> {
    let list = model["merges"].as_array().ok_or("a tokenizer.json without merges")?;
    let bytes: HashMap<char, u8> = byte_names();
    let pairs: Result<Vec<_>, _> = list
        .iter()
        .map(|entry| {
            let pair = match entry {
                Value::String(pair) => pair.split_once(' '),
                _ => entry[0].as_str().zip(entry[1].as_str()),
            };
            pair.and_then(|(left, right)| Some((named(&bytes, left)?, named(&bytes, right)?)))
                .ok_or_else(|| format!("a merge that is not of bytes: {entry}"))
        })
        .collect();
    let names: HashMap<u8, char> = bytes.iter().map(|(&name, &byte)| (byte, name)).collect();
    let has = |token: &[u8]| {
        let name: String = token.iter().map(|byte| names[byte]).collect();
        model["vocab"].get(&name).is_some()
    };
    in_order(&pairs?, has)
}

/// The bytes of a token by its name.
fn named(bytes: &HashMap<char, u8>, name: &str) -> Option<Vec<u8>> {
    name.chars().map(|char| bytes.get(&char).copied()).collect()
}

/// The tokens whose bytes do not merge into them, with the number of tokens that they merge into: with `ignore_merges`, a
/// pretoken that is a token is one token nevertheless.
fn unreached(merges: &Merges, file: &Value) -> Result<Whole, String> {
    let added: HashSet<&str> =
        file["added_tokens"].as_array().into_iter().flatten().filter_map(|token| token["content"].as_str()).collect();
    let (names, made) = (byte_names(), merges.tokens.iter().map(Vec::as_slice).collect::<HashSet<&[u8]>>());
    let vocabulary = file["model"]["vocab"].as_object().into_iter().flat_map(|vocabulary| vocabulary.keys());
    let unmade: Vec<Vec<u8>> = vocabulary
        .filter(|name| !added.contains(name.as_str()))
        .filter_map(|name| named(&names, name))
        .filter(|token| !made.contains(&token[..]))
        .collect();
    short_enough(&unmade)?;
    counted(merges, unmade)
}

/// Tokens that no merge makes, with the number of tokens that each merges into.
fn counted(merges: &Merges, unmade: Vec<Vec<u8>>) -> Result<Whole, String> {
    let (bytes, table) = (bytes_of(&merges.tokens)?, merges.table());
    let counted = unmade.into_iter().map(|token| {
        let count = merge(&token, &bytes, &table).len();
        (token, count)
    });
    Ok(counted.collect())
}

/// How byte-level vocabularies write each byte: itself if it is printable, else a character from U+0100 on.
fn byte_names() -> HashMap<char, u8> {
    let seen = |byte: &u8| matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    let names = (0..=255_u8).filter(seen).map(|byte| (char::from(byte), byte));
    let hidden = (0..=255_u8).filter(|byte| !seen(byte)).zip(0x100_u32..);
    names.chain(hidden.filter_map(|(byte, name)| Some((char::from_u32(name)?, byte)))).collect()
}
