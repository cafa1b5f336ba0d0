//! JSON text as nodes; the binding has the other view, over Python objects.
//!
//! A value has the meaning that Python's `json.loads` gives it: the last of equal keys counts, where the first stood;
//! `NaN` and `Infinity` are numbers; integers have any length up to [`parse::MOST_DIGITS`]; a lone surrogate is U+FFFD
//! by the time it is counted.

pub mod canon;
mod lazy_text;
mod names;
mod number;
pub mod parse;
mod tape;
mod unescape;
mod value;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry as Place;

use crate::error::Error;
use crate::node::{Key, MAX_DEPTH, Node, Shape};
pub use lazy_text::LazyText;
use tape::{Entry, Kind};
pub use tape::{Fault, Parsed, Tape};
pub(crate) use unescape::has_lone_surrogate;

/// Number of entries from which a hash table finds equal keys; fewer are compared with each other.
const MANY: usize = 32;

/// A value in a parsed text.
#[derive(Clone, Copy, Debug)]
pub struct Json<'t, 'a> {
    /// By reference, so that a value fits into two registers: it is passed on often.
    all: &'t Parsed<'t, 'a>,
    at: usize,
}

impl<'t, 'a> Json<'t, 'a> {
    /// The value that was parsed.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::json::{Json, Tape};
    /// use trimtab_core::node::{Key, Node, Text};
    ///
    /// let (text, mut tape) = (r#"{"text": "old", "text": "caf\u00e9"}"#, Tape::default());
    /// assert_eq!(tape.parse(text, 0), Ok(text.len()));
    /// let parsed = tape.of(text);
    /// let value = Json::new(&parsed);
    /// let text = value.get(Key::Text)?.expect("it is there").text()?;
    /// assert_eq!(text.map(|text| text.text().into_owned()), Some("café".to_owned()));
    /// # Ok::<(), trimtab_core::error::Error>(())
    /// ```
    #[must_use]
    pub fn new(all: &'t Parsed<'t, 'a>) -> Self {
        Self { all, at: 0 }
    }

    #[inline]
    fn entry(&self) -> &'t Entry {
        &self.all.entries[self.at]
    }

    #[inline]
    fn raw(&self) -> &'a str {
        let entry = self.entry();
        &self.all.text[entry.start as usize..entry.end as usize]
    }

    /// Its name in its map, with escapes.
    fn name(&self) -> &'a str {
        let entry = self.entry();
        &self.all.text[entry.name_start as usize..entry.name_end as usize]
    }

    /// Its name in its map.
    fn called(&self) -> Cow<'a, str> {
        if self.entry().name == names::ESCAPED {
            Cow::Owned(unescape::text(self.name()))
        } else {
            Cow::Borrowed(self.name())
        }
    }

    fn at(&self, at: usize) -> Self {
        Self { all: self.all, at }
    }

    /// The values inside a list or a map.
    fn inner(&self) -> impl Iterator<Item = Self> {
        let (outer, stop, mut next) = (*self, self.entry().next as usize, self.at + 1);
        std::iter::from_fn(move || {
            (next < stop).then(|| {
                let found = outer.at(next);
                next = found.entry().next as usize;
                found
            })
        })
    }

    fn is_map(&self) -> bool {
        self.entry().kind == Kind::Map
    }

    /// The value under `key` in a map with distinct names without escapes.
    #[inline(always)]
    #[allow(clippy::inline_always)] // as `get`
    fn first(&self, key: Key, map: &Entry) -> Option<Self> {
        let (entries, mut at) = (&self.all.entries[..map.next as usize], self.at + 1);
        loop {
            let entry = entries.get(at)?;
            if entry.name == key as u8 {
                return Some(self.at(at));
            }
            at = entry.next as usize;
        }
    }

    /// The value under `key`, the last of several.
    #[cold]
    fn last(&self, key: Key) -> Option<Self> {
        self.inner().filter(|value| value.called() == key.text()).last()
    }

    /// Whether two values are called the same: lone surrogates differ, though both are counted as U+FFFD.
    fn has_same_name(&self, other: &Self) -> bool {
        if self.entry().name == names::ESCAPED || other.entry().name == names::ESCAPED {
            return unescape::units(self.name()) == unescape::units(other.name());
        }
        self.name() == other.name()
    }

    /// Whether a map has few values, and no name twice.
    fn is_unique(&self) -> bool {
        let is_twice = |(n, value): (usize, Self)| self.inner().take(n).any(|known| known.has_same_name(&value));
        self.inner().nth(MANY - 1).is_none() && !self.inner().enumerate().any(is_twice)
    }

    /// The values of a map without repetitions of a name: the first place, the last value.
    fn unique(&self) -> Vec<Self> {
        let all: Vec<Self> = self.inner().collect();
        let mut out: Vec<Self> = Vec::with_capacity(all.len());
        if all.len() < MANY {
            for value in all {
                match out.iter_mut().find(|known| known.has_same_name(&value)) {
                    Some(known) => *known = value,
                    None => out.push(value),
                }
            }
            return out;
        }
        let mut places: HashMap<Vec<u16>, usize> = HashMap::with_capacity(all.len());
        for value in all {
            match places.entry(unescape::units(value.name())) {
                Place::Occupied(place) => out[*place.get()] = value,
                Place::Vacant(place) => {
                    place.insert(out.len());
                    out.push(value);
                }
            }
        }
        out
    }
}

impl<'a> Node for Json<'_, 'a> {
    type Text = LazyText<'a>;

    #[inline]
    fn shape(&self) -> Shape {
        match self.entry().kind {
            Kind::Null => Shape::Null,
            Kind::True | Kind::False => Shape::Bool,
            Kind::Integer | Kind::Float | Kind::Word => Shape::Number,
            Kind::Plain | Kind::Escaped => Shape::Text,
            Kind::List => Shape::List,
            Kind::Map => Shape::Map,
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // most keys that are asked for are not there
    fn get(&self, key: Key) -> Result<Option<Self>, Error> {
        let map = self.entry();
        Ok(match map.names {
            names if !names::may_have(names, key) => None,
            names if names & names::REPEATED == 0 => self.first(key, map),
            _ => self.last(key),
        })
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // the keys are known where they are asked for
    fn fields<const N: usize>(&self, keys: [Key; N]) -> Result<[Option<Self>; N], Error> {
        let mut found = [None; N];
        for (value, key) in found.iter_mut().zip(keys) {
            *value = self.get(key)?;
        }
        Ok(found)
    }

    #[inline]
    fn text(&self) -> Result<Option<Self::Text>, Error> {
        Ok(match self.entry().kind {
            Kind::Plain => Some(LazyText::plain(self.raw())),
            Kind::Escaped => {
                let entry = self.entry();
                Some(LazyText::escaped_in(self.all.text, entry.start as usize, entry.end as usize))
            }
            _ => None,
        })
    }

    #[inline]
    fn look<R>(&self, see: impl FnOnce(&str) -> R) -> Result<Option<R>, Error> {
        Ok(match self.entry().kind {
            Kind::Plain => Some(see(self.raw())),
            Kind::Escaped => Some(see(&unescape::text(self.raw()))),
            _ => None,
        })
    }

    fn quoted(&self) -> Option<&str> {
        match self.entry().kind {
            Kind::Plain => Some(self.raw()),
            Kind::Escaped => Some(self.raw()).filter(|raw| unescape::is_as_written(raw)),
            _ => None,
        }
    }

    fn json(&self) -> Option<Self::Text> {
        // Rejects deep nesting here, because counting cannot fail.
        (self.is_map() && self.all.depth <= MAX_DEPTH).then(|| LazyText::written(self.raw()))
    }

    fn items(&self, visit: &mut dyn FnMut(Self) -> Result<(), Error>) -> Result<(), Error> {
        if self.entry().kind == Kind::List { self.inner().try_for_each(visit) } else { Ok(()) }
    }

    fn entries(&self, visit: &mut dyn FnMut(&str, Self) -> Result<(), Error>) -> Result<(), Error> {
        if !self.is_map() {
            return Ok(());
        }
        let visit = |value: Self| visit(&value.called(), value);
        if self.is_unique() { self.inner().try_for_each(visit) } else { self.unique().into_iter().try_for_each(visit) }
    }

    fn literal(&self) -> String {
        match self.entry().kind {
            Kind::Null => "null".to_owned(),
            Kind::True => "true".to_owned(),
            Kind::False => "false".to_owned(),
            Kind::Integer if self.raw() == "-0" => "0".to_owned(),
            Kind::Word | Kind::Integer => self.raw().to_owned(),
            Kind::Float => number::float(self.raw()),
            _ => String::new(),
        }
    }

    fn is_true(&self) -> bool {
        self.entry().kind == Kind::True
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::write_json;

    fn written(text: &str) -> Result<String, Fault> {
        let mut tape = Tape::default();
        let end = tape.parse(text, 0)?;
        assert_eq!(text[end..].trim(), "");
        let mut out = String::new();
        write_json(&Json::new(&tape.of(text)), &mut out, None).unwrap();
        Ok(out)
    }

    #[test]
    fn odd_values_mean_what_they_mean_in_python() {
        for (text, meaning) in [
            (r#" {"a" : 1, "b": [ ], "a": {} } "#, r#"{"a":{},"b":[]}"#),
            (r#"{"\ud800": 1, "\ud801": 2}"#, "{\"\u{fffd}\":1,\"\u{fffd}\":2}"),
            (r#"["\ud83d\ude00", "\ude00\ud83d", "\ud83dx"]"#, "[\"😀\",\"\u{fffd}\u{fffd}\",\"\u{fffd}x\"]"),
            ("[-0, -0.0, 1E2, 1e400, -Infinity, NaN]", "[0,-0.0,100.0,Infinity,-Infinity,NaN]"),
            ("[0.1, 1e16, 123456789012345680.0, 1e-5, 0.0001]", "[0.1,1e+16,1.2345678901234568e+17,1e-05,0.0001]"),
            ("[123456789012345678901234567890]", "[123456789012345678901234567890]"),
            (r#"["\/\b\f\n\r\t\"\\"]"#, r#"["/\b\f\n\r\t\"\\"]"#),
        ] {
            assert_eq!(written(text).as_deref(), Ok(meaning), "{text}");
        }
    }

    #[test]
    fn many_keys_are_told_apart_as_few_are() {
        for n in [3, 31, 32, 500] {
            let keys = |from| (0..n).map(move |i| format!("\"k{i}\":{}", from + i));
            let twice = format!("{{{}}}", keys(0).chain(keys(n)).collect::<Vec<_>>().join(","));
            let once = format!("{{{}}}", keys(n).collect::<Vec<_>>().join(","));
            assert_eq!(written(&twice), Ok(once));
        }
    }
}
