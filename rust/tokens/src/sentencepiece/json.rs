//! Reads a `tokenizer.json` whose model has pairs of characters and tokens for bytes.

use std::collections::HashSet;

use serde_json::Value;

use super::merge::Merges;
use super::{Parts, Prefix};

/// The parts of a file; None where its model is another one.
pub fn read(data: &[u8]) -> Option<Parts> {
    let file: Value = serde_json::from_slice(data).ok()?;
    let model = &file["model"];
    let is_plain = |key: &str| model[key].is_null() || model[key] == "" || model[key] == false;
    let others = ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"];
    if model["type"] != "BPE" || model["byte_fallback"] != true || !others.into_iter().all(is_plain) {
        return None;
    }
    let prefix = prefix(&file["normalizer"], &file["pre_tokenizer"])?;
    let (vocabulary, list) = (model["vocab"].as_object()?, model["merges"].as_array()?);
    let bytes: HashSet<String> = (0..=255_u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    if !bytes.iter().all(|byte| vocabulary.contains_key(byte)) {
        return None;
    }
    let pairs = list.iter().zip(0..).map(|(entry, rank)| {
        let (left, right) = match entry {
            Value::String(pair) => pair.split_once(' ')?,
            _ => entry[0].as_str().zip(entry[1].as_str())?,
        };
        let is_known = |part: &str| vocabulary.contains_key(part) && !bytes.contains(part);
        (is_known(left) && is_known(right)).then_some((left, right, rank))
    });
    let merges = Merges::new(vocabulary.keys().map(String::as_str), pairs.collect::<Option<Vec<_>>>()?)?;
    Some(Parts::new(prefix, Vec::new(), merges))
}

/// The space in front of a text, by the two steps before the model; None where they do anything else than to write spaces as
/// `▁` and to put one there.
fn prefix(normalizer: &Value, splitter: &Value) -> Option<Prefix> {
    let alone = [normalizer.clone()];
    let steps = match normalizer {
        Value::Null => &[],
        _ => normalizer["normalizers"].as_array().map_or(&alone[..], Vec::as_slice),
    };
    let prepends = |step: &Value| step["type"] == "Prepend" && step["prepend"] == "▁";
    let replaces =
        |step: &Value| step["type"] == "Replace" && step["pattern"]["String"] == " " && step["content"] == "▁";
    let is_idle = splitter.is_null()
        || splitter["type"] == "Split" && splitter["pattern"]["String"] == " " && splitter["behavior"] != "Removed";
    match steps {
        [first, second] if prepends(first) && replaces(second) && is_idle => Some(Prefix::Always),
        [only] if replaces(only) && is_idle => Some(Prefix::None),
        [] if splitter["type"] == "Metaspace" && splitter["replacement"] == "▁" && splitter["split"] == false => {
            match splitter["prepend_scheme"].as_str() {
                Some("first" | "always") => Some(Prefix::Missing),
                Some("never") => Some(Prefix::None),
                _ => None,
            }
        }
        _ => None,
    }
}
