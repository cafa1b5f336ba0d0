//! Maps whose hashes have a seed of this process.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, Hasher};
use std::sync::LazyLock;

use xxhash_rust::xxh3::xxh3_64_with_seed;

/// A map by texts or numbers.
pub type Map<K, V> = HashMap<K, V, Seeded>;
/// A set of texts or numbers.
pub type Set<K> = HashSet<K, Seeded>;

/// Makes hashers with a seed of this process, so that no transcript can be written whose words or names collide.
#[derive(Clone, Copy, Default)]
pub struct Seeded;

impl BuildHasher for Seeded {
    type Hasher = Hash;

    fn build_hasher(&self) -> Hash {
        static SEED: LazyLock<u64> = LazyLock::new(|| std::hash::RandomState::new().hash_one(0));
        Hash(*SEED)
    }
}

/// The hash of what was written so far: the standard one takes three times as long for a word.
pub struct Hash(u64);

impl Hasher for Hash {
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64_with_seed(bytes, self.0);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = self.0.rotate_left(8) ^ u64::from(byte);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
