//! The border: conversions and signatures. One call in, one call out; the interpreter is released around all work.
#![allow(clippy::needless_pass_by_value)] // what Python passes is owned: its wrappers come by value
#![allow(clippy::doc_markdown)] // these docs are Python's docstrings

mod answer;
mod convert;
mod counter;
mod dump;
mod known;
mod ledger;
mod raw;
mod reader;
mod scan;
mod seen;
mod tally;
mod text;
mod truncate;
mod view;

use pyo3::prelude::*;

/// The compiled core; private, reached through `trimtab`.
#[pymodule(gil_used = false)]
mod _core {
    #[pymodule_export]
    use super::answer::{digest, judge, partition, snap, split, split_tail, validate};
    #[pymodule_export]
    use super::convert::plant;
    #[pymodule_export]
    use super::counter::{Counter, features};
    #[pymodule_export]
    use super::dump::dumps;
    #[pymodule_export]
    use super::ledger::Ledger;
    #[pymodule_export]
    use super::reader::{Reader, survey};
    #[pymodule_export]
    use super::scan::detect;
    #[pymodule_export]
    use super::tally::Tally;
    #[pymodule_export]
    use super::truncate::{Truncation, truncate};

    #[pymodule_init]
    fn init(m: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("ENVELOPE", trimtab_core::envelope::ENVELOPE)?;
        m.add("CLOSE", trimtab_core::envelope::CLOSE)?;
        m.add("PRUNED", trimtab_core::envelope::PRUNED)?;
        Ok(())
    }
}
