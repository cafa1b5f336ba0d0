//! Many short strings in one buffer.

use std::ops::Range;

use memchr::memmem;

/// A column of strings: one allocation for all, so that a million ids cost their bytes and four more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    text: String,
    ends: Vec<usize>,
}

impl Strings {
    /// Reserves capacity for this many short strings.
    pub fn reserve(&mut self, count: usize) {
        self.text.reserve(8 * count);
        self.ends.reserve(count);
    }

    /// Appends a string.
    pub fn push(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(text); // most ids are empty: this saves a call of memcpy for each
        }
        self.ends.push(self.text.len());
    }

    /// Replaces the last string, if any.
    pub fn set_last(&mut self, text: &str) {
        if let [before @ .., last] = &mut self.ends[..] {
            let start = before.last().copied().unwrap_or(0);
            if start < *last {
                self.text.truncate(start);
            }
            self.text.push_str(text);
            *last = self.text.len();
        }
    }

    /// The string at `index`; empty past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> &str {
        let Some(&end) = self.ends.get(index) else { return "" };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.text[start..end]
    }

    /// Bytes of a range of the strings.
    #[must_use]
    pub fn length(&self, which: Range<usize>) -> u64 {
        let before = |index: usize| index.checked_sub(1).map_or(0, |last| self.ends[last]);
        (before(which.end) - before(which.start)) as u64
    }

    /// The first string that equals `text`, which is not empty.
    #[must_use]
    pub fn position(&self, text: &str) -> Option<usize> {
        // A search over all bytes at once; it may find a part of a string, or of two neighbours, which may overlap it.
        let (finder, bytes) = (memmem::Finder::new(text), self.text.as_bytes());
        let mut from = 0;
        loop {
            let start = from + finder.find(&bytes[from..])?;
            let index = self.ends.partition_point(|end| *end <= start);
            if self.ends[index] == start + text.len() && self.get(index) == text {
                return Some(index);
            }
            from = start + 1;
        }
    }

    /// Appends the strings of another column.
    pub fn extend(&mut self, other: &Self) {
        let base = self.text.len();
        self.text.push_str(&other.text);
        self.ends.extend(other.ends.iter().map(|end| base + end));
    }

    /// A range of the strings.
    #[must_use]
    pub fn between(&self, which: Range<usize>) -> Self {
        let start = which.start.checked_sub(1).map_or(0, |before| self.ends[before]);
        let ends: Vec<usize> = self.ends[which].iter().map(|end| end - start).collect();
        Self { text: self.text[start..][..ends.last().copied().unwrap_or(0)].to_owned(), ends }
    }

    /// The text of all strings, and where each ends in it.
    #[must_use]
    pub fn parts(&self) -> (&str, &[usize]) {
        (&self.text, &self.ends)
    }

    /// The column of these parts; `None` where they fit no column.
    #[must_use]
    pub fn of_parts(text: String, ends: Vec<usize>) -> Option<Self> {
        let fits = ends.is_sorted() && ends.iter().all(|end| text.is_char_boundary(*end));
        (fits && ends.last().copied().unwrap_or(0) == text.len()).then_some(Self { text, ends })
    }

    /// Number of strings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are no strings.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_come_back_as_they_went_in() {
        let mut column = Strings::default();
        for s in ["a", "", "çé", "d"] {
            column.push(s);
        }
        column.set_last("end");
        let copy = column.clone();
        column.extend(&copy);
        let all: Vec<&str> = (0..column.len()).map(|i| column.get(i)).collect();
        assert_eq!(all, ["a", "", "çé", "end", "a", "", "çé", "end"]);
        assert_eq!(column.get(99), "");
        assert_eq!((column.length(0..4), column.length(3..5), column.length(2..2)), (8, 4, 0));
        let firsts = ["a", "çé", "end", "d", "nd", "çéend"].map(|text| column.position(text));
        assert_eq!(firsts, [Some(0), Some(2), Some(3), None, None, None]);
        let mut overlapping = Strings::default();
        for text in ["ba", "aa", "", "aa"] {
            overlapping.push(text);
        }
        assert_eq!(["aa", "ba", "a"].map(|text| overlapping.position(text)), [Some(1), Some(0), None]);
        assert_eq!((column.between(0..4), column.between(4..8)), (copy.clone(), copy));
        assert_eq!(column.between(2..4).get(0), "çé");
        let (text, ends) = column.parts();
        assert_eq!(Strings::of_parts(text.to_owned(), ends.to_vec()), Some(column));
        for ends in [vec![1, 0, 2], vec![1, 2], vec![2, 9], vec![]] {
            assert_eq!(Strings::of_parts("çé".to_owned(), ends), None);
        }
    }
}
