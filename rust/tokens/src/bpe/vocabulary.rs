//! A vocabulary: its tables and its pretokenization pattern.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::tables::Tables;

/// Data aligned to cache lines.
#[repr(C, align(64))]
struct Lines<T: ?Sized>(T);

/// The tables that the build script made, used in place in the mapped library, and the short tokens that are made of them.
macro_rules! tables {
    ($name:literal) => {{
        static LINES: &Lines<[u8]> = &Lines(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name)));
        Tables::read(bytemuck::cast_slice(&LINES.0))
    }};
}

/// `o200k_base`.
pub static O200K: LazyLock<Vocabulary> =
    LazyLock::new(|| embedded("o200k_base", Pattern::O200k, tables!("o200k_base")));

/// `cl100k_base`.
pub static CL100K: LazyLock<Vocabulary> =
    LazyLock::new(|| embedded("cl100k_base", Pattern::Cl100k, tables!("cl100k_base")));

fn embedded(name: &str, pattern: Pattern, tables: Tables) -> Vocabulary {
    Vocabulary { name: name.to_owned(), normalizes: false, pattern, tables }
}

/// A byte-pair vocabulary.
#[derive(Debug)]
pub struct Vocabulary {
    /// Its name.
    pub name: String,
    /// Whether texts are normalized to form C first.
    pub normalizes: bool,
    /// The pretokenization pattern.
    pub pattern: Pattern,
    /// The lookup tables.
    pub tables: Tables,
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Vocabulary {}

impl Vocabulary {
    /// The text as it is counted: normalized where the vocabulary asks for it.
    #[must_use]
    pub fn normal<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.normalizes || text.is_ascii() || is_nfc(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.nfc().collect())
    }
}
