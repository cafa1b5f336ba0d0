//! A vocabulary: its tables, and how its texts are split.

use std::borrow::Cow;
use std::sync::LazyLock;

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::bpe::pretokenize::scalar::Pattern;
use crate::bpe::tables::Tables;

/// Words that lie at the start of a cache line.
#[repr(C, align(64))]
struct Lines<T: ?Sized>(T);

/// The tables that the build script made, where the system has mapped them.
macro_rules! tables {
    ($name:literal) => {{
        static LINES: &Lines<[u8]> = &Lines(*include_bytes!(concat!(env!("OUT_DIR"), "/", $name)));
        Tables::read(bytemuck::cast_slice(&LINES.0))
    }};
}

/// `o200k_base`.
pub static O200K: LazyLock<Vocabulary> = LazyLock::new(|| ours("o200k_base", Pattern::O200k, tables!("o200k_base")));

/// `cl100k_base`.
pub static CL100K: LazyLock<Vocabulary> =
    LazyLock::new(|| ours("cl100k_base", Pattern::Cl100k, tables!("cl100k_base")));

fn ours(name: &str, pattern: Pattern, tables: Tables) -> Vocabulary {
    Vocabulary { name: name.to_owned(), normalizes: false, pattern, tables }
}

/// How texts are split, and what their pretokens are merged into.
#[derive(Debug)]
pub struct Vocabulary {
    /// What it is called.
    pub name: String,
    /// Whether texts are put into normalization form C first.
    pub normalizes: bool,
    /// How texts are split.
    pub pattern: Pattern,
    /// What pretokens are merged into.
    pub tables: Tables,
}

impl PartialEq for Vocabulary {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Vocabulary {}

impl Vocabulary {
    /// The text that is counted.
    #[must_use]
    pub fn normal<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.normalizes || text.is_ascii() || is_nfc(text) {
            return Cow::Borrowed(text);
        }
        Cow::Owned(text.nfc().collect())
    }
}
