//! The border: conversions and signatures. One call in, one call out; the interpreter is released around all work.
#![allow(clippy::needless_pass_by_value)] // what Python passes is owned: its wrappers come by value
#![allow(clippy::doc_markdown)] // these docs are Python's docstrings

#[cfg(debug_assertions)]
mod checked;
mod convert;
mod counter;
mod dump;
mod incremental;
mod known;
mod ledger;
mod offline;
mod raw;
mod reader;
mod scan;
mod seen;
mod split;
mod text;
mod truncate;
mod validate;
mod view;

use pyo3::prelude::*;

/// The compiled core; private, reached through `trimtab`.
// Lists and dicts are read through borrowed references (`raw`), and another thread without a GIL could empty one
// meanwhile. No free-threaded Python was there to test strong references on.
#[pymodule(gil_used = true)]
mod _core {
    #[pymodule_export]
    use super::{
        counter::Counter,
        dump::{digest, dumps},
        incremental::IncrementalCounter,
        ledger::Ledger,
        offline::offline,
        reader::{Reader, recover, survey},
        scan::{detect, entries},
        split::{partition, split, split_tail},
        truncate::{Truncation, truncate},
        validate::validate,
    };

    #[pymodule_init]
    fn init(m: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("ENVELOPE", trimtab_core::envelope::ENVELOPE)?;
        m.add("CLOSE", trimtab_core::envelope::CLOSE)?;
        m.add("PRUNED", trimtab_core::envelope::PRUNED)?;
        // Empty where the environment names an unknown page: the first counter raises that.
        m.add("SIMD", trimtab_simd::name().unwrap_or_default())?;
        #[cfg(debug_assertions)]
        super::checked::add_to(m)?;
        Ok(())
    }
}
