//! Bytes as JSON: what a reader looks for is said far more often than chance would.
#![allow(dead_code)] // no target needs all of it

use trimtab_core::node::Key;

/// Words that readers know, beside their keys.
const WORDS: [&str; 48] = [
    "user",
    "assistant",
    "system",
    "developer",
    "tool",
    "function",
    "model",
    "text",
    "tool_use",
    "tool_result",
    "thinking",
    "redacted_thinking",
    "image",
    "document",
    "server_tool_use",
    "mcp_tool_use",
    "web_search_tool_result",
    "compaction",
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "input_text",
    "output_text",
    "input_image",
    "image_url",
    "refusal",
    "mcp_approval_request",
    "local_shell_call",
    "error",
    "base64",
    "",
    " ",
    "\n",
    "a",
    "b",
    "id",
    "é",
    "\u{fffd}",
    "<trimtab-summary ",
    "[trimtab: pruned 1 tokens]",
    "ephemeral",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAMgAAADIEAYAAAD9yHLdAAAA",
    "image/png",
    "call_1",
    "call_2",
    "low",
];

/// The remaining bytes.
pub struct Bytes<'a>(pub &'a [u8]);

impl Bytes<'_> {
    /// The next byte, 0 behind the last.
    pub fn next(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// The next number below `most`.
    pub fn below(&mut self, most: usize) -> usize {
        usize::from(self.next()) % most
    }
}

/// Writes a value of at most `depth` levels.
fn value(bytes: &mut Bytes<'_>, depth: usize, out: &mut String) {
    match bytes.next() % if depth == 0 { 5 } else { 9 } {
        0..=2 => out.push_str(&format!("{:?}", WORDS[bytes.below(WORDS.len())]).replace("\\u{fffd}", "\\ufffd")),
        3 => out.push_str(["null", "true", "false", "0", "-1.5e3", "9007199254740993"][bytes.below(6)]),
        4 => out.push_str("\"\\ud83d\\ude00 \\ud800 \\u0001\""),
        5 | 6 => {
            out.push('[');
            for n in 0..bytes.below(4) {
                out.push_str(if n > 0 { "," } else { "" });
                value(bytes, depth - 1, out);
            }
            out.push(']');
        }
        _ => map(bytes, depth - 1, out),
    }
}

/// Writes a map.
pub fn map(bytes: &mut Bytes<'_>, depth: usize, out: &mut String) {
    out.push('{');
    for n in 0..bytes.below(6) {
        let key = Key::ALL[bytes.below(Key::ALL.len())].text();
        out.push_str(if n > 0 { "," } else { "" });
        out.push_str(&format!("\"{key}\":"));
        value(bytes, depth, out);
    }
    out.push('}');
}
