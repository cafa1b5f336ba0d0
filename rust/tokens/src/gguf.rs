//! Reads the vocabulary of a GGUF file, as llama.cpp and Ollama keep models: it stands in front of the weights.

use serde_json::{Map, Value, json};

use crate::bpe::patterns::written;
use crate::bpe::pretokenize::scalar::Pattern;
use crate::error::Error;
use crate::sentencepiece::Parts;
use crate::sentencepiece::model::{BPE, Piece, Settings, parts};
use crate::sentencepiece::rewrite::Sentence;

/// The first bytes of a file.
const MAGIC: &[u8] = b"GGUF";

/// Depth of arrays in arrays; none of the known keys has any.
const DEEP: usize = 8;

/// Entries of lists that are read, in all: the largest known vocabulary has a million. Each takes 24 bytes here, and may take
/// one of the file.
const ENTRIES: usize = 1 << 23;

/// The kind of a token of a text, not of a file's own.
const NORMAL: i64 = 1;

/// The kind of a text that is one token wherever it stands. Those of pairs of bytes are counted as text, as special tokens
/// are in a `tokenizer.json`.
const USER_DEFINED: i64 = 4;

/// Kinds of tokens that are found in a prompt before all text: unknown, control, and user-defined ones.
const ADDED: [i64; 3] = [2, 3, USER_DEFINED];

/// Keys of a model's name, of its architecture, and the end of that of its window.
const NAME: &str = "general.name";
const ARCHITECTURE: &str = "general.architecture";
const WINDOW: &str = ".context_length";

/// The beginning of a vocabulary's keys.
const VOCABULARY: &str = "tokenizer.ggml.";

/// What a file says of the prompts of its model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// The model's name; empty where the file names none.
    pub name: String,
    /// The chat template; empty where the file has none.
    pub template: String,
    /// Tokens of the window; 0 where the file names none.
    pub window: u64,
    /// The texts of the tokens that begin and end a text; empty where there are none.
    pub begin: String,
    /// See `begin`.
    pub end: String,
    /// Whether the first one stands in front of every prompt.
    pub begins: bool,
    /// The texts of the tokens that are found in a prompt before all text.
    pub added: Vec<String>,
}

/// What a file says of the prompts of its model; None for another file.
///
/// # Errors
///
/// [`Error::Argument`] for a file that is cut off or damaged.
pub fn prompts(data: &[u8]) -> Result<Option<Prompts>, Error> {
    if !is_gguf(data) {
        return Ok(None);
    }
    let keys = Keys::read(data).map_err(Error::Argument)?;
    let whole =
        |key: &str| if let Some(Field::Text(text)) = keys.whole(key) { (*text).to_owned() } else { String::new() };
    let tokens = keys.texts("tokens");
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a place, or a number of tokens
    let number =
        |field: Option<&Field<'_>>| if let Some(Field::Number(number)) = field { Some(*number as u64) } else { None };
    let token = |key: &str| {
        let place = number(keys.get(key)).and_then(|place| usize::try_from(place).ok());
        place.and_then(|place| tokens.get(place)).map(|text| (*text).to_owned()).unwrap_or_default()
    };
    #[allow(clippy::cast_possible_truncation)]
    let kinds = keys.numbers("token_type").into_iter().map(|kind| kind as i64);
    let added = tokens.iter().zip(kinds).filter(|(_, kind)| ADDED.contains(kind)).map(|(text, _)| (*text).to_owned());
    Ok(Some(Prompts {
        name: whole(NAME),
        template: whole("tokenizer.chat_template"),
        window: number(keys.whole(&(whole(ARCHITECTURE) + WINDOW))).unwrap_or_default(),
        begin: token("bos_token_id"),
        end: token("eos_token_id"),
        begins: keys.flag("add_bos_token", keys.text("model") == "llama"),
        added: added.collect(),
    }))
}

/// A vocabulary, by its kind.
pub enum Found {
    /// Pairs of bytes, as a `tokenizer.json` says them.
    Json(Vec<u8>),
    /// Pairs of characters.
    Pieces(Parts),
}

/// Whether a file is one.
#[must_use]
pub fn is_gguf(data: &[u8]) -> bool {
    data.starts_with(MAGIC)
}

/// A value; of numbers and texts alone, and of lists of these.
enum Field<'d> {
    Number(f64),
    Text(&'d str),
    List(Vec<Field<'d>>),
}

/// The bytes that are left, and the entries of lists that are still read.
struct Reader<'d>(&'d [u8], usize);

impl<'d> Reader<'d> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*bytes)
    }

    fn number(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn length(&mut self) -> Option<usize> {
        usize::try_from(u64::from_le_bytes(self.take()?)).ok()
    }

    fn text(&mut self) -> Option<&'d [u8]> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(text)
    }

    /// A value of a kind. Keys that nobody reads may hold bytes that are no text: they are empty.
    fn value(&mut self, kind: u32, deep: usize) -> Option<Field<'d>> {
        #[allow(clippy::cast_precision_loss)] // sizes and flags
        Some(match kind {
            0 | 7 => Field::Number(f64::from(self.take::<1>()?[0])),
            1 => Field::Number(f64::from(i8::from_le_bytes(self.take()?))),
            2 => Field::Number(f64::from(u16::from_le_bytes(self.take()?))),
            3 => Field::Number(f64::from(i16::from_le_bytes(self.take()?))),
            4 => Field::Number(f64::from(self.number()?)),
            5 => Field::Number(f64::from(i32::from_le_bytes(self.take()?))),
            6 => Field::Number(f64::from(f32::from_le_bytes(self.take()?))),
            8 => Field::Text(std::str::from_utf8(self.text()?).unwrap_or_default()),
            9 if deep < DEEP => {
                let (kind, length) = (self.number()?, self.length()?);
                let mut list = Vec::new(); // no length is believed before its bytes are there
                for _ in 0..length {
                    self.1 = self.1.checked_sub(1)?;
                    list.push(self.value(kind, deep + 1)?);
                }
                Field::List(list)
            }
            10 => Field::Number(u64::from_le_bytes(self.take()?) as f64),
            11 => Field::Number(i64::from_le_bytes(self.take()?) as f64),
            12 => Field::Number(f64::from_le_bytes(self.take()?)),
            _ => return None,
        })
    }
}

/// The keys of a file.
struct Keys<'d>(Vec<(&'d str, Field<'d>)>);

impl<'d> Keys<'d> {
    fn read(data: &'d [u8]) -> Result<Self, String> {
        let mut left = Reader(data.get(MAGIC.len()..).unwrap_or_default(), ENTRIES);
        let cut = "a GGUF file that is cut off or damaged";
        let version = left.number().ok_or(cut)?;
        if !(2..=3).contains(&version) {
            return Err(format!("a GGUF file of version {version}: 2 and 3 are known"));
        }
        let (_tensors, keys) = left.length().zip(left.length()).ok_or(cut)?;
        let mut found = Vec::new();
        for _ in 0..keys {
            let key = left.text().and_then(|key| std::str::from_utf8(key).ok()).ok_or(cut)?;
            let kind = left.number().ok_or(cut)?;
            let value = left.value(kind, 0).ok_or(cut)?;
            if key.starts_with("tokenizer.") || key == NAME || key == ARCHITECTURE || key.ends_with(WINDOW) {
                found.push((key, value));
            }
        }
        Ok(Self(found))
    }

    /// A value of the vocabulary.
    fn get(&self, key: &str) -> Option<&Field<'d>> {
        self.0.iter().find(|(name, _)| name.strip_prefix(VOCABULARY) == Some(key)).map(|(_, value)| value)
    }

    /// A value of the model.
    fn whole(&self, key: &str) -> Option<&Field<'d>> {
        self.0.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    fn text(&self, key: &str) -> &'d str {
        if let Some(Field::Text(text)) = self.get(key) { text } else { "" }
    }

    fn flag(&self, key: &str, default: bool) -> bool {
        if let Some(Field::Number(number)) = self.get(key) { *number != 0.0 } else { default }
    }

    fn texts(&self, key: &str) -> Vec<&'d str> {
        let Some(Field::List(list)) = self.get(key) else { return Vec::new() };
        list.iter().filter_map(|value| if let Field::Text(text) = value { Some(*text) } else { None }).collect()
    }

    #[allow(clippy::cast_possible_truncation)] // scores were f32, kinds are small
    fn numbers(&self, key: &str) -> Vec<f32> {
        let Some(Field::List(list)) = self.get(key) else { return Vec::new() };
        list.iter()
            .filter_map(|value| if let Field::Number(number) = value { Some(*number as f32) } else { None })
            .collect()
    }
}

/// The vocabulary of a file.
///
/// # Errors
///
/// Says what is not known: the kind of the vocabulary, how it splits texts.
pub fn read(data: &[u8]) -> Result<Found, String> {
    let keys = Keys::read(data)?;
    let tokens = keys.texts("tokens");
    #[allow(clippy::cast_possible_truncation)]
    let kinds: Vec<i64> = keys.numbers("token_type").into_iter().map(|kind| kind as i64).collect();
    let kind = |place: usize| kinds.get(place).copied().unwrap_or(NORMAL);
    match keys.text("model") {
        _ if tokens.is_empty() => Err("a GGUF file without a vocabulary".to_owned()),
        "gpt2" => {
            let (patterns, ignores) = patterns(keys.text("pre"))?;
            if keys.texts("merges").is_empty() {
                return Err("a GGUF file of pairs of bytes that lists no pairs".to_owned());
            }
            let blank = |token: &str| token.chars().all(|c| matches!(c, ' ' | '\t' | '\n' | 'Ġ' | 'ĉ' | 'Ċ'));
            if tokens.iter().enumerate().any(|(place, token)| kind(place) == USER_DEFINED && blank(token)) {
                return Err("a GGUF file in which spaces are whole texts: not known".to_owned());
            }
            let named = tokens.iter().enumerate().filter(|&(place, _)| kind(place) == NORMAL);
            let vocabulary: Map<String, Value> =
                named.map(|(place, token)| ((*token).to_owned(), place.into())).collect();
            let mut steps: Vec<Value> = patterns
                .iter()
                .map(|pattern| json!({"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": false}))
                .collect();
            steps.push(
                json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false}),
            );
            let model = json!({
                "type": "BPE", "vocab": vocabulary, "merges": keys.texts("merges"), "ignore_merges": ignores, "byte_fallback": false,
            });
            let file = json!({"pre_tokenizer": {"type": "Sequence", "pretokenizers": steps}, "model": model});
            Ok(Found::Json(file.to_string().into_bytes()))
        }
        "llama" => {
            let scores = keys.numbers("scores");
            let score = |place: usize| scores.get(place).copied().unwrap_or_default();
            let pieces: Vec<Piece<'_>> = tokens
                .iter()
                .enumerate()
                .map(|(place, text)| (*text, score(place), u64::try_from(kind(place)).unwrap_or_default()))
                .collect();
            if keys.flag("remove_extra_whitespaces", false) || keys.get("precompiled_charsmap").is_some() {
                return Err("a GGUF file that rewrites texts: not known".to_owned());
            }
            let prefix = keys.flag("add_space_prefix", true);
            let sentence = Sentence { prefix, escapes: true, ..Sentence::default() };
            parts(&pieces, Settings { kind: BPE, bytes: true, sentence, again: true }).map(Found::Pieces)
        }
        other => Err(format!("a GGUF file with a vocabulary of the kind {other:?}: gpt2 and llama are known")),
    }
}

/// The regular expressions that split a text, by the name that llama.cpp gives them, and whether a part that is a token is
/// one, whatever its merges make.
///
/// llama.cpp splits letters outside ASCII in another way than Tekken's and `o200k_base`'s own expressions, which are taken.
fn patterns(pre: &str) -> Result<(Vec<&'static str>, bool), String> {
    let (pattern, ignores) = match pre {
        "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "pixtral" => (Pattern::Llama3, true),
        "dbrx" | "smaug-bpe" | "glm4" | "chatglm-bpe" => (Pattern::Llama3, false),
        "qwen2" | "deepseek-r1-qwen" | "megrez" | "stablelm2" => (Pattern::Qwen2, false),
        "tekken" => (Pattern::Tekken, true),
        "gpt-4o" | "llama4" => (Pattern::O200k, false),
        "gpt-2" | "phi-2" | "gigachat" | "roberta-bpe" | "mpt" | "olmo" | "jais" | "trillion" => (Pattern::Gpt2, false),
        "starcoder" | "refact" | "command-r" | "smollm" | "codeshell" | "exaone" | "minerva-7b" => {
            return Ok(([&[r"\p{N}"], written(Pattern::Gpt2)].concat(), false));
        }
        "deepseek-v3" => (Pattern::DeepSeek3, false),
        "deepseek-coder" => (Pattern::DeepSeekCoder, false),
        other => return Err(format!("a GGUF file that splits texts as {other:?}: not known")),
    };
    Ok((written(pattern).to_vec(), ignores))
}
