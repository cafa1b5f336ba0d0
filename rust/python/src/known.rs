//! Strings that are known by their address.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use trimtab_core::node::Key;

/// Words that stand behind keys so often that their address is looked at first.
const WORDS: [&str; 13] = [
    "user",
    "assistant",
    "system",
    "tool",
    "developer",
    "model",
    "function",
    "message",
    "tool_use",
    "tool_result",
    "function_call_output",
    "input_text",
    "output_text",
];

/// Slots of the table: some three for each string, so that most addresses find their own at once.
const SLOTS: usize = 256;

/// The keys that shape readers look up and the words that they meet, as the interpreter's own strings: those are what a
/// literal in Python code is. A string that came out of a file is another, and is compared by its text.
pub struct Known {
    strings: Vec<(Py<PyString>, &'static str)>,
    slots: [(usize, u8); SLOTS],
}

static KNOWN: PyOnceLock<Known> = PyOnceLock::new();

impl Known {
    /// The number of no string.
    pub const NONE: u8 = u8::MAX;

    /// The table, made once: the strings live as long as the process, and so no other gets one of their addresses.
    pub fn strings(py: Python<'_>) -> &'static Self {
        KNOWN.get_or_init(py, || {
            let texts = Key::ALL.iter().map(|key| key.text()).chain(WORDS);
            let strings: Vec<_> = texts.map(|text| (PyString::intern(py, text).unbind(), text)).collect();
            let mut slots = [(0, Self::NONE); SLOTS];
            for (number, (string, _)) in (0..Self::NONE).zip(&strings) {
                let address = string.as_ptr().addr();
                let mut slot = Self::slot(address);
                while slots[slot].0 != 0 && slots[slot].0 != address {
                    slot = (slot + 1) % SLOTS;
                }
                if slots[slot].0 == 0 {
                    slots[slot] = (address, number); // a word that is a key as well has the key's number
                }
            }
            Self { strings, slots }
        })
    }

    fn slot(address: usize) -> usize {
        (address >> 4 ^ address >> 12) % SLOTS
    }

    /// The number of the string at `address`; that of a key is its own.
    pub fn number(&self, address: usize) -> u8 {
        let mut slot = Self::slot(address);
        loop {
            match self.slots[slot] {
                (at, number) if at == address => return number,
                (0, _) => return Self::NONE,
                _ => slot = (slot + 1) % SLOTS,
            }
        }
    }

    /// The text of the string at `address`.
    pub fn text(&self, address: usize) -> Option<&'static str> {
        self.strings.get(usize::from(self.number(address))).map(|(_, text)| *text)
    }

    /// A key as Python's string.
    pub fn key<'py>(&self, py: Python<'py>, key: Key) -> &Bound<'py, PyString> {
        self.strings[key as usize].0.bind(py)
    }
}
