//! How files write the patterns that split texts.

use crate::bpe::pretokenize::scalar::Pattern;

/// The supported patterns, as files write them.
pub const PATTERNS: [(&[&str], Pattern); 10] = [
    (
        &[concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|",
            r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )],
        Pattern::O200k,
    ),
    (
        &[concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|",
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|",
            r"\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        )],
        Pattern::Tekken,
    ),
    (
        &[concat!(
            r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|",
            r"\s*[\r\n]|\s+(?!\S)|\s",
        )],
        Pattern::Cl100k,
    ),
    (
        &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|",
            r"\s+(?!\S)|\s+",
        )],
        Pattern::Llama3,
    ),
    (
        &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|",
            r"\s+(?!\S)|\s+",
        )],
        Pattern::Qwen2,
    ),
    (
        &[concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|",
            r"\s*[\r\n]+|\s+(?!\S)|\s+",
        )],
        Pattern::Qwen35,
    ),
    (&[r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"], Pattern::Gpt2),
    (&[r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"], Pattern::Gpt2),
    (&[], Pattern::Gpt2), // the default of a byte-level pre-tokenizer
    (
        &[
            r"\p{N}{1,3}",
            "[一-龥぀-ゟ゠-ヿ]+",
            concat!(
                r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"##,
                r" ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            ),
        ],
        Pattern::DeepSeek3,
    ),
];

/// The regular expressions of a pattern, as the first file writes them.
pub fn written(pattern: Pattern) -> &'static [&'static str] {
    PATTERNS.iter().find(|(_, of)| *of == pattern).map_or(&[], |(written, _)| written)
}

/// The pattern of these regular expressions, applied in order.
pub fn known(patterns: &[String]) -> Result<Pattern, String> {
    let known = PATTERNS.iter().find(|(known, _)| known == &patterns);
    known.map(|(_, pattern)| *pattern).ok_or_else(|| format!("the pattern {patterns:?} is not known"))
}
