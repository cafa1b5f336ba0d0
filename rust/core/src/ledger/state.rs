//! A ledger as bytes, for another process: what was read. What follows from that is computed there again.
//!
//! Each column is its length (8 bytes) and its values, all numbers with the low byte first.

use super::{Document, Kind, Ledger, OverheadTerms, Picture, Role, Strings, reads::Read};
use crate::counter::Counter;
use crate::error::Error;

impl Ledger {
    /// The columns as bytes; [`Ledger::of_bytes`] makes an equal ledger of them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Columns(Vec::new());
        out.put(&self.first, u32::to_le_bytes);
        out.put(&self.role, |role| [role as u8]);
        out.put(&self.marks, u16::to_le_bytes);
        out.put(&self.digests, |digest| digest);
        out.put(&self.kind, |kind| [kind as u8]);
        for column in [&self.bytes, &self.chars, &self.utf16, &self.payload, &self.texts, &self.labels] {
            out.put(column, u32::to_le_bytes);
        }
        out.put(&self.flags, u16::to_le_bytes);
        out.put(&self.markers, |n| [n]);
        out.put(&self.content, |digest| digest);
        for strings in [&self.ids, &self.names] {
            let (text, ends) = strings.parts();
            out.put(text.as_bytes(), |byte| [byte]);
            out.put(ends, |end| (end as u64).to_le_bytes());
        }
        for number in [|p: Picture| p.row, |p: Picture| p.edge, |p: Picture| p.base64] {
            out.put(&self.pictures, |picture| number(picture).to_le_bytes());
        }
        for number in [|d: Document| d.row, |d: Document| d.pages] {
            out.put(&self.documents, |document| number(document).to_le_bytes());
        }
        out.put(&self.reads, |read| read.row.to_le_bytes());
        out.put(&self.reads, |read| read.file);
        out.put(&self.reads, |read| read.part);
        out.put(&self.reads, |read| [u8::from(read.whole)]);
        out.0
    }

    /// The ledger of these bytes; `counter` is equal to the one that counted it.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] where the bytes are no ledger's.
    pub fn of_bytes(bytes: &[u8], counter: &Counter) -> Result<Self, Error> {
        let mut from = Bytes(bytes);
        let first = from.take(u32::from_le_bytes)?;
        let (messages, rows) = sizes(&first)?;
        let role = numbered(&from.exactly(messages, |[n]| n)?, &Role::ALL)?;
        let (marks, digests) = (from.exactly(messages, u16::from_le_bytes)?, from.exactly(messages, |digest| digest)?);
        let kind = numbered(&from.exactly(rows, |[n]| n)?, &Kind::ALL)?;
        let mut numbers = || from.exactly(rows, u32::from_le_bytes);
        let (bytes, chars, utf16) = (numbers()?, numbers()?, numbers()?);
        let (payload, texts, labels) = (numbers()?, numbers()?, numbers()?);
        let (flags, markers) = (from.exactly(rows, u16::from_le_bytes)?, from.exactly(rows, |[n]| n)?);
        let content = from.exactly(rows, |digest| digest)?;
        let (ids, names) = (from.strings(rows)?, from.strings(rows)?);
        let pictures = from.rows(rows)?;
        let (edges, sizes) =
            (from.exactly(pictures.len(), u32::from_le_bytes)?, from.exactly(pictures.len(), u32::from_le_bytes)?);
        let pictures = pictures.into_iter().zip(edges).zip(sizes);
        let documents = from.rows(rows)?;
        let pages = from.exactly(documents.len(), u32::from_le_bytes)?;
        let reads = from.rows(rows)?;
        let (files, parts) = (from.exactly(reads.len(), |digest| digest)?, from.exactly(reads.len(), |digest| digest)?);
        let wholes = from.exactly(reads.len(), |[n]| n != 0)?;
        let reads = reads.into_iter().zip(files).zip(parts).zip(wholes);
        let owned = |(message, rows): (u32, &[u32])| std::iter::repeat_n(message, (rows[1] - rows[0]) as usize);
        let mut ledger = Self {
            owner: (0..).zip(first.windows(2)).flat_map(owned).collect(),
            kind,
            bytes,
            chars,
            utf16,
            flags,
            markers,
            ids,
            names,
            content,
            pictures: pictures.map(|((row, edge), base64)| Picture { row, edge, base64 }).collect(),
            documents: documents.into_iter().zip(pages).map(|(row, pages)| Document { row, pages }).collect(),
            reads: reads.map(|(((row, file), part), whole)| Read { row, file, part, whole }).collect(),
            payload,
            role,
            marks,
            first,
            digests,
            texts,
            labels,
            terms: OverheadTerms::of(counter),
            ..Self::default()
        };
        if !from.0.is_empty() {
            return Err(no_state());
        }
        ledger.finish();
        Ok(ledger)
    }
}

/// Messages and rows of a column of first rows.
fn sizes(first: &[u32]) -> Result<(usize, usize), Error> {
    match *first {
        [0, .., last] if first.is_sorted() => Ok((first.len() - 1, last as usize)),
        [0] => Ok((0, 0)),
        _ => Err(no_state()),
    }
}

/// The values of these numbers.
fn numbered<T: Copy>(numbers: &[u8], all: &[T]) -> Result<Vec<T>, Error> {
    numbers.iter().map(|number| all.get(usize::from(*number)).copied().ok_or_else(no_state)).collect()
}

fn no_state() -> Error {
    Error::Argument("these bytes are not the columns of a ledger".to_owned())
}

struct Columns(Vec<u8>);

impl Columns {
    fn put<T: Copy, const N: usize>(&mut self, column: &[T], bytes: impl Fn(T) -> [u8; N]) {
        self.0.extend((column.len() as u64).to_le_bytes());
        self.0.extend(column.iter().flat_map(|value| bytes(*value)));
    }
}

/// What is left of the bytes.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    /// The next column.
    fn take<T, const N: usize>(&mut self, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
        let (length, rest) = self.0.split_first_chunk().ok_or_else(no_state)?;
        let size = usize::try_from(u64::from_le_bytes(*length)).ok().and_then(|values| values.checked_mul(N));
        let (column, rest) = size.and_then(|size| rest.split_at_checked(size)).ok_or_else(no_state)?;
        self.0 = rest;
        let values = column.chunks_exact(N).map(|bytes| bytes.first_chunk().copied().map(&value));
        values.collect::<Option<_>>().ok_or_else(no_state)
    }

    /// The next column, of so many values.
    fn exactly<T, const N: usize>(&mut self, values: usize, value: impl Fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
        let column = self.take(value)?;
        if column.len() == values { Ok(column) } else { Err(no_state()) }
    }

    /// The next column, of positions of rows.
    fn rows(&mut self, rows: usize) -> Result<Vec<u32>, Error> {
        let column = self.take(u32::from_le_bytes)?;
        if column.iter().all(|row| (*row as usize) < rows) { Ok(column) } else { Err(no_state()) }
    }

    /// The next column of so many strings.
    fn strings(&mut self, rows: usize) -> Result<Strings, Error> {
        let text = String::from_utf8(self.take(|[byte]| byte)?).map_err(|_| no_state())?;
        let ends = self.exactly(rows, |end| usize::try_from(u64::from_le_bytes(end)).unwrap_or(usize::MAX))?;
        Strings::of_parts(text, ends).ok_or_else(no_state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jsonl::Reader;
    use crate::shape::Provider;
    use trimtab_tokens::Encoding;

    #[test]
    fn a_ledger_comes_back_as_it_went_and_no_part_of_its_bytes_is_one() {
        let counter = Counter::from(Encoding::O200k);
        let mut reader = Reader::new(counter, Some(Provider::Anthropic));
        for (role, block) in [
            ("user", r#""type": "text", "text": "naïve""#),
            ("assistant", r#""type": "tool_use", "id": "a", "name": "Read", "input": {"file_path": "/a"}"#),
            ("user", r#""type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": {}}]"#),
            ("user", r#""type": "document", "source": {}"#),
        ] {
            reader.take_line(&format!("{{\"role\": \"{role}\", \"content\": [{{{block}}}]}}\n"));
        }
        let ledger = reader.finish().unwrap().found;
        assert!(!ledger.pictures.is_empty() && !ledger.documents.is_empty() && !ledger.reads.is_empty());
        let bytes = ledger.to_bytes();
        assert_eq!(Ledger::of_bytes(&bytes, &counter), Ok(ledger));
        for end in 0..bytes.len() {
            assert_eq!(Ledger::of_bytes(&bytes[..end], &counter), Err(no_state()), "{end}");
        }
    }
}
