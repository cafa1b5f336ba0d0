//! Each name of a file once: a large one refers to each line and response repeatedly.

use std::hash::{BuildHasher, Hasher};
use std::ops::Range;

use crate::error::Error;
use crate::seeded::{Map, Seeded};

/// A name by its number.
pub type Name = u32;

/// The number of the empty name.
pub const EMPTY: Name = 0;

/// Names by their numbers, in the order in which they came; the first is empty.
#[derive(Debug)]
pub struct Names {
    bytes: Vec<u8>,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Numbers by the hash of the name, or the next free one.
    found: Map<u64, Name>,
}

impl Default for Names {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0], found: Map::from_iter([(hash(b""), EMPTY)]) }
    }
}

impl Names {
    /// The number of a name, which is new if it was not there.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the largest number.
    pub fn number(&mut self, name: &[u8]) -> Result<Name, Error> {
        let mut hash = hash(name);
        while let Some(&known) = self.found.get(&hash) {
            if self.get(known) == name {
                return Ok(known);
            }
            hash = hash.wrapping_add(1);
        }
        let number = Name::try_from(self.ends.len()).map_err(|_| Error::Overflow("names of a file"))?;
        self.bytes.extend_from_slice(name);
        self.ends.push(self.bytes.len());
        self.found.insert(hash, number);
        Ok(number)
    }

    /// The bytes of a name.
    pub fn get(&self, name: Name) -> &[u8] {
        &self.bytes[self.place(name as usize)]
    }

    fn place(&self, number: usize) -> Range<usize> {
        number.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[number]
    }
}

fn hash(name: &[u8]) -> u64 {
    let mut hasher = Seeded.build_hasher();
    hasher.write(name);
    hasher.finish()
}
