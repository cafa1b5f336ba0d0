//! Numbers by numbers, in words that may be mapped into memory.

/// Multiplier of a hash: the golden ratio in 64 bits.
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

/// Keys and values in places, twice as many as there are: a key one larger, so that 0 is none, and its value.
#[derive(Clone, Copy, Debug)]
pub struct Table(pub &'static [u64]);

/// The words of a table of different keys, all below the largest number.
#[allow(clippy::cast_possible_truncation)] // reduced to the number of places
pub fn build(entries: &[(u64, u64)]) -> Vec<u64> {
    let places = (2 * entries.len()).next_power_of_two();
    let mut words = vec![0; 2 * places];
    for &(key, value) in entries {
        let mut place = first(key, places);
        while words[2 * place] != 0 {
            place = (place + 1) % places;
        }
        words[2 * place] = key + 1;
        words[2 * place + 1] = value;
    }
    words
}

#[allow(clippy::cast_possible_truncation)] // reduced to the number of places
fn first(key: u64, places: usize) -> usize {
    (key.wrapping_mul(MIX) >> 32) as usize % places
}

impl Table {
    /// The value of a key below the largest number.
    pub fn get(self, key: u64) -> Option<u64> {
        let places = self.0.len() / 2;
        if places == 0 {
            return None;
        }
        let start = first(key, places);
        for place in (start..places).chain(0..start) {
            match self.0.get(2 * place..2 * place + 2)? {
                [0, _] => return None,
                [known, value] if *known == key + 1 => return Some(*value),
                _ => {}
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_its_keys_and_no_others() {
        let entries: Vec<(u64, u64)> = (0..5_000).map(|key| ((key * key) << 20, key)).collect();
        let table = Table(Vec::leak(build(&entries)));
        assert!(entries.iter().all(|&(key, value)| table.get(key) == Some(value)));
        assert!((1..5_000).all(|key| table.get((key * key) << 20 | 1).is_none()));
        assert_eq!((Table(Vec::leak(build(&[]))).get(3), Table(&[]).get(3)), (None, None));
    }
}
