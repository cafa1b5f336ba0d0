//! A vocabulary: its tables, and how its texts are split.

use std::sync::LazyLock;

use super::split::Scheme;
use super::tables::Tables;

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
pub static O200K: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary { scheme: Scheme::O200k, tables: tables!("o200k_base") });

/// `cl100k_base`.
pub static CL100K: LazyLock<Vocabulary> =
    LazyLock::new(|| Vocabulary { scheme: Scheme::Cl100k, tables: tables!("cl100k_base") });

/// How texts are split, and what their pieces are merged into.
#[derive(Debug)]
pub struct Vocabulary {
    /// How texts are split.
    pub scheme: Scheme,
    /// What pieces are merged into.
    pub tables: Tables,
}
