//! Reads a `tokenizer.json` whose model has pieces with scores, or pairs of characters and tokens for bytes.

use std::collections::{HashMap, HashSet};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::charsmap::Charsmap;
use super::merge::Merges;
use super::rewrite::Step;
use super::unigram::{Settings, Unigram};
use super::{Model, Pairs, Parts};

/// The parts of a file; None where its model is another one.
///
/// # Errors
///
/// Says what is not known of a model of pieces with scores.
pub fn read(data: &[u8]) -> Result<Option<Parts>, String> {
    let Ok(file) = serde_json::from_slice::<Value>(data) else { return Ok(None) };
    if file["model"]["type"] == "Unigram" { unigram(&file).map(Some) } else { Ok(pairs(&file)) }
}

fn pairs(file: &Value) -> Option<Parts> {
    let model = &file["model"];
    let is_plain = |key: &str| model[key].is_null() || model[key] == "" || model[key] == false;
    let others = ["dropout", "continuing_subword_prefix", "end_of_word_suffix", "ignore_merges"];
    if model["type"] != "BPE" || model["byte_fallback"] != true || !others.into_iter().all(is_plain) {
        return None;
    }
    let mut steps = steps(&file["normalizer"]).ok()?;
    let splitter = &file["pre_tokenizer"];
    let is_idle = splitter.is_null()
        || splitter["type"] == "Split" && splitter["pattern"]["String"] == " " && splitter["behavior"] != "Removed";
    let leaves_none = |step: &Step| matches!(step, Step::Replace(old, new) if old == " " && !new.contains(' '));
    if !is_idle {
        let begins_late = loses_beginning(splitter, &steps);
        steps.push(metaspace(splitter).ok().filter(|(_, splits)| !splits && !begins_late)?.0);
    } else if !splitter.is_null() && !steps.last().is_some_and(leaves_none) {
        return None; // texts are split at spaces
    }
    let (vocabulary, list) = (model["vocab"].as_object()?, model["merges"].as_array()?);
    let bytes: HashSet<String> = (0..=255).map(byte_name).collect();
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
    Some(Parts { steps, model: Model::Merges(Pairs::new(Vec::new(), merges)) })
}

fn byte_name(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// An error of a file of pieces with scores.
fn wrong(what: &str) -> String {
    format!("a tokenizer.json of pieces with scores {what}: not known")
}

fn unigram(file: &Value) -> Result<Parts, String> {
    let mut steps = steps(&file["normalizer"])?;
    let splits = split_by(&file["pre_tokenizer"], &mut steps)?;
    let model = &file["model"];
    let listed = model["vocab"].as_array().ok_or_else(|| wrong("without them"))?;
    let pieces: Option<Vec<(&str, f64)>> =
        listed.iter().map(|piece| Some((piece[0].as_str()?, piece[1].as_f64()?))).collect();
    let pieces = pieces.ok_or_else(|| wrong("of which one is none"))?;
    let unknown = model["unk_id"].as_u64().and_then(|place| usize::try_from(place).ok());
    let unknown = unknown.filter(|&place| place < pieces.len());
    let unknown = unknown.ok_or_else(|| wrong("and none for unknown characters"))?;
    // Of equal texts the last one counts.
    let last: HashMap<&str, usize> = pieces.iter().map(|piece| piece.0).zip(0..).collect();
    let mut kept: Vec<usize> = last.values().copied().collect();
    kept.sort_unstable();
    let used: Vec<(&str, f64)> = kept.iter().map(|&place| pieces[place]).collect();
    let settings = Settings {
        splits,
        bytes: model["byte_fallback"] == true,
        without: (0..=255).filter(|&byte| !last.contains_key(&*byte_name(byte))).collect(),
        looks_up: true,
        unknown: Unigram::unknown(pieces.iter().map(|piece| piece.1).fold(f64::INFINITY, f64::min)),
        unknown_piece: kept.iter().position(|&place| place == unknown),
        ..Settings::default()
    };
    let unigram = Unigram::new(&used, settings).ok_or_else(|| wrong("that are too many"))?;
    Ok(Parts { steps, model: Model::Unigram(unigram) })
}

/// Adds the steps of a splitter; returns whether texts are split in front of each `▁`.
fn split_by(splitter: &Value, steps: &mut Vec<Step>) -> Result<bool, String> {
    let alone = [splitter.clone()];
    let splitters = match splitter {
        Value::Null => &[],
        _ => splitter["pretokenizers"].as_array().map_or(&alone[..], Vec::as_slice),
    };
    match splitters {
        [] => Ok(false),
        [space] => {
            let (step, splits) = metaspace(space)?;
            if loses_beginning(space, steps) {
                return Err(wrong("whose texts may lose their beginning"));
            }
            steps.push(step);
            Ok(splits)
        }
        [words, space] if words["type"] == "WhitespaceSplit" && space["prepend_scheme"] != "first" => {
            if metaspace(space)? != (Step::Metaspace(true), true) {
                return Err(wrong("whose words do not begin with a space"));
            }
            steps.push(Step::Words);
            Ok(true)
        }
        _ => Err(wrong("whose texts are split in several ways")),
    }
}

/// Whether a text may lose its beginning where a space is put in front of its first word alone: that is the word that
/// begins where the text does, before it is rewritten.
fn loses_beginning(space: &Value, steps: &[Step]) -> bool {
    let cuts = |step: &Step| match step {
        Step::Strip(left, _) => *left,
        Step::Replace(_, new) | Step::Spaces(new) => new.is_empty(),
        _ => false,
    };
    space["prepend_scheme"] == "first" && steps.iter().any(cuts)
}

/// The steps of a normalizer.
fn steps(normalizer: &Value) -> Result<Vec<Step>, String> {
    match normalizer {
        Value::Null => Ok(Vec::new()),
        Value::Object(sequence) if sequence.get("type").is_some_and(|kind| kind == "Sequence") => {
            let list = normalizer["normalizers"].as_array().map_or(&[][..], Vec::as_slice);
            Ok(list.iter().map(steps).collect::<Result<Vec<_>, _>>()?.concat())
        }
        _ => step(normalizer)
            .map(|step| vec![step])
            .ok_or_else(|| format!("a tokenizer.json whose texts are rewritten by {}: not known", normalizer["type"])),
    }
}

fn step(step: &Value) -> Option<Step> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match step["type"].as_str()? {
        "Replace" => {
            let (pattern, new) = (&step["pattern"], text(&step["content"])?);
            match (pattern["String"].as_str(), pattern["Regex"].as_str()) {
                (Some(old), None) if !old.is_empty() => Some(Step::Replace(old.to_owned(), new)),
                (None, Some(" {2,}")) => Some(Step::Spaces(new)),
                _ => None,
            }
        }
        "Precompiled" => {
            let rules = STANDARD.decode(step["precompiled_charsmap"].as_str()?).ok()?;
            Charsmap::read(&rules).map(Step::Clusters)
        }
        "Strip" => Some(Step::Strip(step["strip_left"].as_bool()?, step["strip_right"].as_bool()?)),
        "Prepend" => text(&step["prepend"]).map(Step::Prepend),
        _ => None,
    }
}

/// The step of a splitter that marks spaces, and whether it splits in front of each one.
fn metaspace(splitter: &Value) -> Result<(Step, bool), String> {
    let wrong = || format!("a tokenizer.json whose texts are split by {}: not known", splitter["type"]);
    if splitter["type"] != "Metaspace" || splitter["replacement"] != "▁" {
        return Err(wrong());
    }
    let prefix = match splitter["prepend_scheme"].as_str() {
        None if splitter["prepend_scheme"].is_null() => true,
        Some("always" | "first") => true,
        Some("never") => false,
        _ => return Err(wrong()),
    };
    if prefix && splitter["add_prefix_space"] == false {
        return Err(wrong());
    }
    Ok((Step::Metaspace(prefix), splitter["split"] != false))
}
