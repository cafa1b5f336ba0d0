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
    use super::counter::Counter;
    #[pymodule_export]
    use super::dump::{digest, dumps};
    #[pymodule_export]
    use super::incremental::IncrementalCounter;
    #[pymodule_export]
    use super::ledger::Ledger;
    #[pymodule_export]
    use super::reader::{Reader, recover, survey};
    #[pymodule_export]
    use super::scan::detect;
    #[pymodule_export]
    use super::split::{partition, split, split_tail};
    #[pymodule_export]
    use super::truncate::{Truncation, truncate};
    #[pymodule_export]
    use super::validate::{judge, validate};

    #[pymodule_init]
    fn init(m: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("ENVELOPE", trimtab_core::envelope::ENVELOPE)?;
        m.add("CLOSE", trimtab_core::envelope::CLOSE)?;
        m.add("PRUNED", trimtab_core::envelope::PRUNED)?;
        #[cfg(debug_assertions)]
        super::checked::add_to(m)?;
        Ok(())
    }
}
