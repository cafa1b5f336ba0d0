//! The hash table of the short tokens, made of a list or of the merges.

use super::{Key, SHORT, WITHOUT_COUNT, bucket_of, by_token, parts_of};

/// Words of a bucket: one cache line.
const BUCKET: usize = 8;

/// Words of the hash table of so many tokens: two entries a bucket of four on average. At this load one bucket in seven
/// overflows.
pub fn words(tokens: usize) -> usize {
    (tokens / 2).max(2) * BUCKET
}

/// Writes the hash table of tokens into words that are zero. Of each token its key, with its count.
pub fn write(words: &mut [u64], short: &[Key]) {
    let buckets = words.len() / BUCKET;
    // The low words are the first half of a bucket, the high words the second.
    let low = |at: usize| at / 4 * BUCKET + at % 4;
    for key in short {
        let mut at = bucket_of(Key { high: key.high & WITHOUT_COUNT, ..*key }.hash(), buckets) * 4;
        while words[low(at) + 4] != 0 {
            at = (at + 1) % (buckets * 4);
        }
        words[low(at)] = key.low;
        words[low(at) + 4] = key.high;
    }
}

/// The table of a vocabulary of ranks, of its merges and of the tokens of the bytes: each token has one, itself, and no part of
/// a token has a higher rank. It takes some milliseconds, and would take half of the bytes that a user downloads. It is
/// never freed, and its buckets are cache lines.
pub fn of_merges(pairs: &[u64], bytes: &[u32]) -> &'static [u64] {
    let merges = by_token(pairs, bytes.len());
    // A token that is too long for a key has an empty one, and so has what is made of it.
    let mut keys = vec![Key::default(); merges.len()];
    for (&token, byte) in bytes.iter().zip(0..=u8::MAX) {
        keys[token as usize] = Key::masked(byte.into(), 1);
    }
    for (token, &merge) in merges.iter().enumerate() {
        if let Some((left, right)) = parts_of(merge) {
            keys[token] = keys[left].joined(keys[right]);
        }
    }
    keys.retain(|key| key.length() > 0);
    for key in &mut keys {
        key.high = key.with_count(1);
    }
    let length = words(keys.len());
    // Written, not only asked for: a page that is read before it is written costs two faults.
    #[allow(clippy::slow_vector_initialization)]
    let mut made = Vec::with_capacity(length + BUCKET);
    made.resize(length + BUCKET, 0);
    let made = made.leak();
    let first = made.as_ptr().align_offset(64).min(BUCKET);
    write(&mut made[first..first + length], &keys);
    &made[first..first + length]
}

impl Key {
    /// The number of bytes.
    fn length(self) -> usize {
        (self.high >> 60) as usize
    }

    /// The bytes, without their number.
    fn wide(self) -> u128 {
        u128::from(self.low) | u128::from(self.high & !(0xF << 60)) << 64
    }

    /// The key of this pretoken with another one behind it; an empty one where one of them is, or where that is too long.
    fn joined(self, other: Self) -> Self {
        let (length, more) = (self.length(), other.length());
        if length == 0 || more == 0 || length + more > SHORT {
            return Self::default();
        }
        Self::masked(self.wide() | other.wide() << (8 * length), length + more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpe::tables::build::{make, ranked};
    use crate::bpe::tables::{Tables, Whole};
    use crate::bpe::vocabulary::{CL100K, O200K};

    #[test]
    fn tables_without_their_short_tokens_have_the_same_ones() {
        for vocabulary in [&O200K, &CL100K] {
            let merges = ranked(vocabulary.tables.vocabulary()).unwrap();
            let [whole, bare] = [Some(&Whole::new()), None].map(|whole| make(&merges, whole).unwrap());
            assert!(bare.len() * 2 < whole.len());
            let [whole, bare] = [whole, bare].map(|words| Tables::read(words.leak()));
            assert_eq!(whole.short_tokens, bare.short_tokens);
            assert_eq!(whole.pairs, bare.pairs);
            assert_eq!(whole.chars, bare.chars);
        }
    }

    #[test]
    fn keys_join_as_their_bytes_do() {
        let text = b"0123456789abcdefgh";
        for middle in 1..=SHORT {
            for stop in middle + 1..=text.len().min(middle + SHORT) {
                let [left, right] = [(0, middle), (middle, stop)].map(|(from, to)| Key::of(text, from, to));
                let whole = if stop <= SHORT { Key::of(text, 0, stop) } else { Key::default() };
                assert_eq!(left.joined(right), whole);
            }
        }
    }
}
