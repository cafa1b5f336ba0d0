//! Each name of a file once: a large one refers to each line and response repeatedly.

use std::collections::HashMap;
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::Error;

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
    found: HashMap<u64, Name>,
}

impl Default for Names {
    fn default() -> Self {
        Self { bytes: Vec::new(), ends: vec![0], found: HashMap::from([(xxh3_64(b""), EMPTY)]) }
    }
}

impl Names {
    /// The number of a name, which is new if it was not there.
    ///
    /// # Errors
    ///
    /// [`Error::Overflow`] past the largest number.
    pub fn number(&mut self, name: &[u8]) -> Result<Name, Error> {
        let mut hash = xxh3_64(name);
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
