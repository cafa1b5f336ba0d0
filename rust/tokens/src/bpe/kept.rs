//! The tables of a file's vocabulary as they are kept between processes.
//!
//! The format is a slice of 64-bit words, as that of the tables: a header of 16 words, the tables, then the tokens that no
//! merge makes. Whoever keeps it maps it into memory; the tables are used in place.

use xxhash_rust::xxh3::xxh3_128;

use crate::bpe::patterns::PATTERNS;
use crate::bpe::tables::{Tables, Whole};
use crate::bpe::vocabulary::Vocabulary;

/// Words of the header: two cache lines, so that the tables begin one.
const HEADER: usize = 16;

/// The first word: the format's name and version. What the words of the tables mean changes it.
const FORMAT: u64 = u64::from_le_bytes(*b"trimtab1");

/// Keeps the words of vocabularies between processes.
pub trait Keeper {
    /// The words that are kept for the digest of a file; None where there are none that can be used.
    fn get(&self, digest: u128) -> Option<&'static [u64]>;

    /// Keeps words for the digest of a file, if that is possible.
    fn put(&self, digest: u128, words: &[u64]);
}

/// Keeps nothing.
pub struct Nowhere;

impl Keeper for Nowhere {
    fn get(&self, _: u128) -> Option<&'static [u64]> {
        None
    }

    fn put(&self, _: u128, _: &[u64]) {}
}

/// The words of a vocabulary that was made of a file.
pub fn words_of(digest: u128, vocabulary: &Vocabulary, tables: &[u64]) -> Option<Vec<u64>> {
    let pattern = PATTERNS.iter().position(|(_, pattern)| *pattern == vocabulary.pattern)?;
    let whole = vocabulary.tables.whole.map(packed).unwrap_or_default();
    let mut words = vec![0; HEADER];
    words.extend_from_slice(tables);
    words.extend_from_slice(&whole);
    words[0] = FORMAT;
    words[1] = patterns();
    [words[2], words[3]] = halves(digest);
    words[6] = pattern as u64;
    words[7] = u64::from(vocabulary.normalizes) | u64::from(vocabulary.tables.whole.is_some()) << 1;
    words[8] = tables.len() as u64;
    [words[4], words[5]] = halves(content(&words));
    Some(words)
}

/// The vocabulary that these words were made of; None if they are damaged, of another file, or of another version.
pub fn restored(words: &'static [u64], digest: u128, name: &str) -> Option<Vocabulary> {
    let header = words.get(..HEADER)?;
    let is_ours = header[0] == FORMAT && header[1] == patterns() && header[2..4] == halves(digest);
    if !is_ours || header[4..6] != halves(content(words)) {
        return None;
    }
    let (_, pattern) = PATTERNS.get(usize::try_from(header[6]).ok()?)?;
    let (tables, whole) = words[HEADER..].split_at_checked(usize::try_from(header[8]).ok()?)?;
    let mut tables = Tables::read(tables);
    if header[7] & 2 == 2 {
        tables.whole = Some(Box::leak(Box::new(unpacked(whole)?)));
    }
    Some(Vocabulary { name: name.to_owned(), normalizes: header[7] & 1 == 1, pattern: *pattern, tables })
}

/// Digest of all words but those of the digest itself.
fn content(words: &[u64]) -> u128 {
    xxh3_128(bytemuck::cast_slice(&words[6..])) ^ u128::from(words[0]) ^ u128::from(words[1]) << 64
}

/// Digest of the patterns: the place of one in the list is what it is kept as.
fn patterns() -> u64 {
    let written = PATTERNS.iter().map(|(written, pattern)| format!("{written:?}{pattern:?}"));
    halves(xxh3_128(written.collect::<String>().as_bytes()))[0]
}

/// A digest as two words.
#[allow(clippy::cast_possible_truncation)] // the two halves
pub fn halves(wide: u128) -> [u64; 2] {
    [wide as u64, (wide >> 64) as u64]
}

/// Bytes as whole words, the last one filled with zeros.
pub fn in_words(bytes: &[u8]) -> impl Iterator<Item = u64> {
    bytes.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    })
}

/// Tokens with their numbers, in order: a word with number and length, then the bytes in whole words.
fn packed(whole: &Whole) -> Vec<u64> {
    let mut sorted: Vec<_> = whole.iter().collect();
    sorted.sort_unstable();
    let mut words = vec![sorted.len() as u64];
    for (token, &number) in sorted {
        words.push((number as u64) << 32 | token.len() as u64);
        words.extend(in_words(token));
    }
    words
}

#[allow(clippy::cast_possible_truncation)] // the two halves
fn unpacked(words: &[u64]) -> Option<Whole> {
    let (&tokens, mut rest) = words.split_first()?;
    let mut whole = Whole::default();
    for _ in 0..tokens {
        let (&head, tail) = rest.split_first()?;
        let (number, length) = ((head >> 32) as usize, head as u32 as usize);
        let (bytes, after) = tail.split_at_checked(length.div_ceil(8))?;
        whole.insert(bytemuck::cast_slice::<_, u8>(bytes)[..length].to_vec(), number);
        rest = after;
    }
    Some(whole)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::bpe::load::read;
    use crate::bpe::pretokenize::scalar::Pattern;
    use crate::encoding::Encoding;

    fn whole() -> Whole {
        [(b"a".to_vec(), 1), (b"eight888".to_vec(), 3), (b"nine99999".to_vec(), 1 << 20), (Vec::new(), 0)].into()
    }

    /// Keeps the last words.
    #[derive(Default)]
    struct Last(Mutex<Option<(u128, Vec<u64>)>>);

    impl Keeper for Last {
        fn get(&self, _: u128) -> Option<&'static [u64]> {
            None
        }

        fn put(&self, digest: u128, words: &[u64]) {
            *self.0.lock().expect("one thread") = Some((digest, words.to_vec()));
        }
    }

    /// A `tokenizer.json` of pairs of letters; with `ignore_merges` a token that no merge makes.
    fn file(ignores: bool, normalizer: &str) -> String {
        let names: Vec<_> = ('!'..='~').chain('\u{a1}'..='\u{ac}').chain('\u{ae}'..='\u{ff}').collect();
        let hidden = (0x100..=0x143).filter_map(char::from_u32);
        let mut tokens: Vec<String> = names.into_iter().chain(hidden).map(String::from).collect();
        tokens.extend(["he", "ll", "hell", "Ġh"].map(String::from));
        if ignores {
            tokens.push("hello".to_owned());
        }
        let vocabulary: serde_json::Map<String, serde_json::Value> =
            tokens.into_iter().zip((0..).map(Into::into)).collect();
        let split = PATTERNS.iter().find(|(_, pattern)| *pattern == Pattern::Llama3).map(|(written, _)| written[0]);
        serde_json::json!({
            "normalizer": serde_json::from_str::<serde_json::Value>(normalizer).expect("JSON"),
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated", "invert": false},
                {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false},
            ]},
            "model": {
                "type": "BPE", "vocab": vocabulary, "ignore_merges": ignores,
                "merges": [["h", "e"], ["l", "l"], ["he", "ll"], ["Ġ", "h"]],
            },
        })
        .to_string()
    }

    fn made(file: &str) -> (&'static Vocabulary, u128, Vec<u64>) {
        let last = Last::default();
        let vocabulary = read(file.as_bytes(), "small", None, &last).expect("a vocabulary");
        let (digest, words) = last.0.lock().expect("one thread").take().expect("kept once");
        (vocabulary, digest, words)
    }

    #[test]
    fn a_vocabulary_that_was_kept_counts_as_before() {
        for (ignores, normalizer) in [(false, "null"), (true, "null"), (false, r#"{"type": "NFC"}"#)] {
            let (before, digest, words) = made(&file(ignores, normalizer));
            let after = restored(Vec::leak(words), digest, "small").expect("the same words");
            assert_eq!((after.normalizes, after.pattern), (before.normalizes, before.pattern));
            assert_eq!(after.tables.whole, before.tables.whole);
            assert_eq!(after.tables.whole.is_some(), ignores);
            let after: &'static Vocabulary = Box::leak(Box::new(after));
            for text in ["hello hello, hell", " he said 123456 e\u{301}", "", "\u{4e2d}\u{6587}\n\n x"] {
                let [one, other] = [before, after].map(|of| Encoding::File(of).count(text));
                assert_eq!(one, other, "{text}");
            }
        }
    }

    #[test]
    fn words_that_are_damaged_or_of_another_file_are_not_used() {
        let (_, digest, words) = made(&file(true, r#"{"type": "Sequence", "normalizers": []}"#));
        assert!(restored(Vec::leak(words.clone()), digest, "small").is_some());
        assert!(restored(Vec::leak(words.clone()), digest ^ 1, "small").is_none());
        let places = (0..HEADER).chain((HEADER..words.len()).step_by(997)).chain([words.len() - 1]);
        for place in places {
            let mut damaged = words.clone();
            damaged[place] ^= 1 << (place % 64);
            assert!(restored(Vec::leak(damaged), digest, "small").is_none(), "{place}");
        }
        for end in [0, 1, HEADER - 1, HEADER, words.len() / 2, words.len() - 1] {
            assert!(restored(Vec::leak(words[..end].to_vec()), digest, "small").is_none(), "{end}");
        }
    }

    #[test]
    fn tokens_that_no_merge_makes_come_back() {
        assert_eq!(unpacked(&packed(&whole())), Some(whole()));
        assert_eq!(unpacked(&packed(&Whole::new())), Some(Whole::new()));
        let words = packed(&whole());
        for end in 0..words.len() {
            assert_eq!(unpacked(&words[..end]), None, "{end}");
        }
    }
}
