//! The border: conversions and signatures. One call in, one call out; the interpreter is released around all work.
#![allow(clippy::needless_pass_by_value)] // what Python passes is owned: its wrappers come by value
#![allow(clippy::doc_markdown)] // these docs are Python's docstrings

mod added;
mod blocks;
mod calls;
#[cfg(debug_assertions)]
mod checked;
mod convert;
mod counter;
mod dump;
mod fields;
mod incremental;
mod layout;
mod ledger;
mod mapped;
mod offline;
mod parts;
mod places;
mod raw;
mod reader;
mod scan;
mod seen;
mod session;
mod settings;
mod split;
mod text;
mod truncate;
mod validate;
mod view;
mod worded;

use pyo3::prelude::*;

/// The compiled core; private, reached through `trimtab`.
// Lists and dicts are read through borrowed references (`raw`), and another thread without a GIL could empty one
// meanwhile. No free-threaded Python was there to test strong references on.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::{
        added::{AddedTokens, gguf},
        blocks::{Blocks, Logs},
        calls::placeholders,
        counter::{Counter, threads},
        dump::{digest, dumps, not_json, surrogates},
        incremental::IncrementalCounter,
        ledger::Ledger,
        offline::{facts, kept_spans, offline, unfounded},
        parts::{made_of, parts_of},
        places::Seen,
        reader::{Reader, recover},
        scan::{all_plain, detect, entries},
        session::{SessionLines, SessionPrompt},
        split::{partition, split, split_tail},
        truncate::{Truncation, truncate},
        validate::validate,
        worded::worded,
    };

    #[pymodule_init]
    fn init(m: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        use trimtab_core::envelope::{CLOSE, ENVELOPE, PRUNED};
        // Empty where the environment names an unknown page: the first counter raises that.
        let simd = trimtab_simd::name().unwrap_or_default();
        let texts = [("ENVELOPE", ENVELOPE), ("CLOSE", CLOSE), ("PRUNED", PRUNED), ("SIMD", simd)];
        texts.into_iter().try_for_each(|(name, text)| m.add(name, text))?;
        super::layout::look(m.py())?;
        m.add("ITEMS", super::validate::items(m.py())?)?;
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        #[cfg(debug_assertions)]
        super::checked::add_to(m)?;
        Ok(())
    }
}
