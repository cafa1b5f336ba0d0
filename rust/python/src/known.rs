//! Strings that are known by their address.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use trimtab_core::keys::Addresses;
use trimtab_core::node::Key;

/// Values so frequent that their address is compared first.
const WORDS: &str = "user assistant system tool developer model function message tool_use tool_result \
    function_call_output input_text output_text";

/// The keys that shape readers look up and frequent values, as the interpreter's own strings: literals in Python code are
/// those. A string out of a file is another object, and is compared by its text.
pub struct Known {
    strings: Vec<(Py<PyString>, &'static str)>,
    pub numbers: Addresses,
}

static KNOWN: PyOnceLock<Known> = PyOnceLock::new();

impl Known {
    /// The table, made once: its strings live as long as the process, so no other string gets one of their addresses.
    pub fn strings(py: Python<'_>) -> &'static Self {
        KNOWN.get_or_init(py, || {
            let texts = Key::ALL.iter().map(|key| key.text()).chain(WORDS.split_whitespace());
            let strings: Vec<_> = texts.map(|text| (PyString::intern(py, text).unbind(), text)).collect();
            let numbers = Addresses::new(strings.iter().map(|(string, _)| string.as_ptr().addr()));
            Self { strings, numbers }
        })
    }

    /// The text of the string at `address`.
    pub fn text(&self, address: usize) -> Option<&'static str> {
        self.strings.get(usize::from(self.numbers.number(address))).map(|(_, text)| *text)
    }

    /// A key as Python's string.
    pub fn key<'py>(&self, py: Python<'py>, key: Key) -> &Bound<'py, PyString> {
        self.strings[key as usize].0.bind(py)
    }
}
