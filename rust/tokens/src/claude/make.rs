//! Makes the tables of Claude's vocabularies for the build script, so that no table is built at run time.
//!
//! A vocabulary becomes a double-array trie over bytes: unit `base ^ byte` is the child by `byte` if its label is `byte`. No
//! two nodes share a base, so the label suffices. Character classes and costs become two-stage tables.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// Slots below this are reserved: base 0 means that a node has no children.
const FIRST: usize = 256;

/// Writes the tables as Rust source.
pub fn make(data: &Path, to: &Path) {
    let mut out = String::new();
    let bits = classes(&fs::read_to_string(data.join("claude.classes")).expect("the classes are in the repository"));
    stages("CLASS", "u16", &bits, &mut out);
    pairs(&bits, &mut out);
    for (file, name) in [("claude-old", "OLD"), ("claude-new", "NEW")] {
        let bytes = fs::read(data.join(file).with_extension("pieces")).expect("the pieces are in the repository");
        vocabulary(&bytes, name, &bits, &mut out);
    }
    fs::write(to, out).expect("cargo's folder can be written to");
}

/// The bits of each character, as `data/claude.py` packs them and claude/classes.rs names them.
fn classes(text: &str) -> Vec<u16> {
    let mut bits = vec![0u16; 0x11_0000];
    for line in text.lines() {
        let mut words = line.split(' ').map(|word| usize::from_str_radix(word, 16).expect("hexadecimal"));
        let mut next = || words.next().expect("first, last, bits");
        let (first, last, value) = (next(), next(), next());
        bits[first..=last].fill(u16::try_from(value).expect("sixteen bits"));
    }
    bits
}

/// Whether a character is a letter of a word independent of its neighbours: wordy, no stray mark, never normalized.
fn is_plain_letter(bits: u16) -> bool {
    bits & 0xF01F == 1
}

/// Whether a character is a letter that is counted by itself independent of its neighbours.
fn is_plain_alone(bits: u16) -> bool {
    bits & 0xF05F == 0
}

/// Whether a character is part of a word, and the only normalization is that it may compose with the one before it.
fn is_joining(bits: u16) -> bool {
    bits & 0xF01F == 0x8001
}

/// Whether a character is a symbol that normalization never changes.
fn is_symbol(bits: u16) -> bool {
    bits & 0xF05F == 8
}

/// Whether a character is a mark and a symbol that does not change after a plain letter of these scripts, from Devanagari
/// to Lao: claude/normalize.rs has the test.
fn is_settled(code: usize, bits: u16) -> bool {
    (0x900..0xF00).contains(&code) && bits & 0xF05F == 0x1008
}

/// Writes a bitmap of the characters of two bytes, a bit for sixteen that are all plain letters. The index is the low half
/// of the first byte; the low four bits are for C0 to CF, the high four for D0 to DF.
fn pairs(bits: &[u16], out: &mut String) {
    let plain = |first: usize, sixteen: usize| {
        let code = first << 6 | sixteen << 4;
        u8::from(bits[code..code + 16].iter().all(|bits| is_plain_letter(*bits)))
    };
    let all: Vec<u8> = (0..16).map(|low| (0..8).map(|bit| plain(low + (bit / 4) * 16, bit % 4) << bit).sum()).collect();
    array("PAIRS", "u8", &all, out);
}

/// Writes a two-stage table: the index of each block of 64, and the distinct blocks.
fn stages<T: Copy + Eq + std::hash::Hash + std::fmt::Debug>(name: &str, unit: &str, values: &[T], out: &mut String) {
    let (mut index, mut blocks, mut seen) = (Vec::new(), Vec::new(), HashMap::new());
    for block in values.chunks(64) {
        let at = *seen.entry(block).or_insert_with(|| {
            blocks.extend_from_slice(block);
            blocks.len() / 64 - 1
        });
        index.push(at);
    }
    array(&format!("{name}_INDEX"), "u16", &index, out);
    array(&format!("{name}_BLOCKS"), unit, &blocks, out);
}

fn array<T: std::fmt::Debug>(name: &str, unit: &str, values: &[T], out: &mut String) {
    writeln!(out, "pub static {name}: [{unit}; {}] = {values:?};", values.len()).expect("a string can grow");
}

/// Writes a family's trie, and the tokens of each character by itself, as claude/cover.rs reads them.
fn vocabulary(mut bytes: &[u8], name: &str, bits: &[u16], out: &mut String) {
    let (pieces, prefixes) = (texts(&mut bytes), texts(&mut bytes));
    let (units, root) = double_array(&pieces);
    array(&format!("{name}_TRIE"), "u32", &units, out);
    writeln!(out, "pub const {name}_ROOT: u32 = {root};").expect("a string can grow");
    let alone: Vec<u8> = (0..0x11_0000)
        .map(|code| {
            let Some(c) = char::from_u32(code) else { return 3 };
            let mut buffer = [0; 4];
            let utf8 = c.encode_utf8(&mut buffer).as_bytes();
            if pieces.binary_search_by(|p| p.as_slice().cmp(utf8)).is_ok() {
                return 1;
            }
            // No piece: the longest prefix that is a token, and a token for each byte after it.
            let known = |n: &usize| prefixes.binary_search_by(|p| p.as_slice().cmp(&utf8[..*n])).is_ok();
            let prefix = (2..=utf8.len()).rev().find(known).unwrap_or(1);
            u8::try_from(1 + utf8.len() - prefix).expect("at most four")
        })
        .collect();
    let mut alone: Vec<u8> = alone
        .into_iter()
        .zip(bits)
        .enumerate()
        .map(|(code, (tokens, bits))| match *bits {
            bits if is_plain_letter(bits) => tokens | 1 << 3,
            bits if is_plain_alone(bits) => tokens | 1 << 3 | tokens << 4,
            bits if is_joining(bits) => tokens | 1 << 4,
            bits if is_symbol(bits) => tokens | 1 << 5,
            bits if is_settled(code, bits) => tokens | 1 << 6,
            _ => tokens,
        })
        .collect();
    alone[0xE4D] &= 7; // the first half of Thai SARA AM: claude/normalize.rs
    for ends_in_mark in [0xC48, 0xDDA, 0xDDD] {
        alone[ends_in_mark] &= 7; // a mark may sort before theirs
    }
    array(&format!("{name}_NEAR"), "u8", &alone[..0x1_0000], out);
    stages(&format!("{name}_FAR"), "u8", &alone[0x1_0000..], out);
    let longest = pieces.iter().map(Vec::len).max().unwrap_or(0);
    assert!(longest < 256, "the cover keeps 256 costs"); // claude/cover.rs: RING
}

/// Reads one list; each text is stored as the length that it shares with the one before, and the rest.
fn texts(bytes: &mut &[u8]) -> Vec<Vec<u8>> {
    let (count, mut rest) = bytes.split_at(4);
    let count = u32::from_le_bytes(count.try_into().expect("four bytes"));
    let mut all: Vec<Vec<u8>> = Vec::new();
    for _ in 0..count {
        let (shared, length) = (usize::from(rest[0]), usize::from(rest[1]));
        let mut text = all.last().map_or(Vec::new(), |before| before[..shared].to_vec());
        text.extend_from_slice(&rest[2..2 + length]);
        rest = &rest[2 + length..];
        all.push(text);
    }
    *bytes = rest;
    all
}

/// The units and the base of the root's children.
///
/// Bits 0 to 7 of a unit are its label, bit 8 says whether a piece ends here, the higher bits are the base of its children.
fn double_array(pieces: &[Vec<u8>]) -> (Vec<u32>, usize) {
    let mut array = Array { units: vec![0; FIRST], used: vec![true; FIRST], bases: vec![true; FIRST], free: FIRST };
    let mut work = vec![(None::<usize>, 0, 0..pieces.len())];
    let (mut next, mut root) = (0, 0);
    while next < work.len() {
        let (node, depth, mut range) = work[next].clone();
        next += 1;
        if pieces[range.start].len() == depth {
            range.start += 1; // the piece that ends here: its unit says so already
        }
        let mut children: Vec<(u8, std::ops::Range<usize>)> = Vec::new();
        for at in range {
            match children.last_mut() {
                Some((label, of)) if *label == pieces[at][depth] => of.end = at + 1,
                _ => children.push((pieces[at][depth], at..at + 1)),
            }
        }
        if children.is_empty() {
            continue;
        }
        let base = array.place(&children.iter().map(|(label, _)| *label).collect::<Vec<_>>());
        match node {
            Some(node) => array.units[node] |= u32::try_from(base).expect("bases fit in 23 bits") << 9,
            None => root = base,
        }
        for (label, of) in children {
            let slot = base ^ usize::from(label);
            let ends = u32::from(pieces[of.start].len() == depth + 1) << 8;
            array.units[slot] = u32::from(label) | ends;
            work.push((Some(slot), depth + 1, of));
        }
    }
    (array.close(), root)
}

struct Array {
    units: Vec<u32>,
    used: Vec<bool>,
    bases: Vec<bool>,
    /// No slot below is free.
    free: usize,
}

impl Array {
    /// Takes slots for children with these labels; returns their base.
    fn place(&mut self, labels: &[u8]) -> usize {
        while self.used.get(self.free).copied().unwrap_or(false) {
            self.free += 1;
        }
        for slot in self.free.. {
            let base = slot ^ usize::from(labels[0]);
            if base + FIRST > self.units.len() {
                let length = (base / FIRST + 2) * FIRST; // a whole block: xor stays inside
                self.units.resize(length, 0);
                self.used.resize(length, false);
                self.bases.resize(length, false);
            }
            let fits = |label: &u8| !self.used[base ^ usize::from(*label)];
            if base >= FIRST && !self.bases[base] && labels.iter().all(fits) {
                self.bases[base] = true;
                for label in labels {
                    self.used[base ^ usize::from(*label)] = true;
                }
                return base;
            }
        }
        unreachable!("slots do not end")
    }

    /// Gives each free slot a label that no node looks up there.
    fn close(mut self) -> Vec<u32> {
        for slot in 0..self.units.len() {
            if !self.used[slot] || slot < FIRST {
                let is_looked_up = |label: &u8| {
                    let base = slot ^ usize::from(*label);
                    // Every leaf has base 0, so the slots of base 0 need such a label as well.
                    if slot < FIRST { base == 0 } else { self.bases[base] }
                };
                let label =
                    (0..=u8::MAX).find(|label| !is_looked_up(label)).expect("a block has a base that is not used");
                self.units[slot] = u32::from(label);
            }
        }
        self.units
    }
}
