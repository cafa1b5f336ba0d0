//! Messages of frameworks: recognized by their fields, and refused with the framework's own conversion.
//!
//! Only a message that a shape has refused or doubts is looked at here, so that a list of a provider's messages pays
//! nothing for it.

use std::collections::HashSet;

use crate::error::Error;
use crate::node::{Node, Shape};

/// A kind of message that no provider takes.
pub struct Foreign {
    /// Fields that all its messages have; `a.b` is a field of `a`, or of an item of `a`, and `a{}` is a map.
    fields: &'static [&'static str],
    /// The kind of message.
    pub what: &'static str,
    /// How to convert it.
    pub hint: &'static str,
}

const fn kind(fields: &'static [&'static str], what: &'static str, hint: &'static str) -> Foreign {
    Foreign { fields, what, hint }
}

const LANGCHAIN: &str = "pass the messages themselves; of dumps messages_from_dict([{\"type\": dump[\"type\"], \"data\": dump} \
    for dump in dumps]) of langchain_core.messages makes them";
const PYDANTIC_AI: &str = "pass the messages themselves; of a dump \
    pydantic_ai.messages.ModelMessagesTypeAdapter.validate_python(dump) makes them";
const VERCEL: &str = "write each as {\"role\": ..., \"content\": [...]} in your provider's shape; convertToModelMessages of \
    the AI SDK makes role and content of UI messages";
const LLAMA_INDEX: &str = "pass to_openai_message_dicts(messages) of llama_index.llms.openai.utils";
const HAYSTACK: &str = "pass [message.to_openai_dict_format() for message in messages]";
const MCP: &str =
    "write its content as a list of your provider's blocks, such as [{\"type\": \"text\", \"text\": \"...\"}]";
const A2A: &str = "write each as {\"role\": \"user\" or \"assistant\", \"content\": ...} with the texts of its parts";

/// The kinds, by the fields that they must have. The first that fits counts, so that those with more fields stand first.
const KINDS: &[Foreign] = &[
    kind(
        &["lc", "kwargs"],
        "a serialized LangChain message",
        "pass load(messages, allowed_objects=\"messages\") of langchain_core.load: its messages are read as they are",
    ),
    kind(
        &["type", "data.content"],
        "a LangChain message of messages_to_dict",
        "pass messages_from_dict(messages) of langchain_core.messages: they are read as they are",
    ),
    kind(&["content", "additional_kwargs", "type"], "a LangChain message", LANGCHAIN),
    kind(&["content", "response_metadata"], "a LangChain message", LANGCHAIN),
    kind(&["parts.part_kind"], "a pydantic-ai message", PYDANTIC_AI),
    kind(&["parts", "messageId"], "an A2A message", A2A),
    kind(&["parts", "message_id"], "an A2A message", A2A),
    kind(&["parts.kind"], "an A2A message", A2A),
    kind(&["parts", "kind"], "a pydantic-ai message", PYDANTIC_AI),
    kind(&["parts.type"], "an AI SDK message", VERCEL),
    kind(&["content.toolCallId", "content.toolName"], "an AI SDK message", VERCEL),
    kind(&["blocks.block_type"], "a LlamaIndex message", LLAMA_INDEX),
    kind(&["role", "blocks", "additional_kwargs"], "a LlamaIndex message", LLAMA_INDEX),
    kind(&["_role", "_content"], "a Haystack message", HAYSTACK),
    kind(&["role", "meta", "content"], "a Haystack message", HAYSTACK),
    kind(&["content.tool_call"], "a Haystack message", HAYSTACK),
    kind(&["content.tool_call_result"], "a Haystack message", HAYSTACK),
    kind(&["content", "source", "type"], "an AutoGen message", "write \"source\" as a role: \"user\" or \"assistant\""),
    kind(&["raw_item"], "a run item of the OpenAI Agents SDK", "pass result.to_input_list()"),
    kind(&["items", "content_type"], "a Semantic Kernel message", "pass [message.to_dict() for message in messages]"),
    kind(
        &["role", "contents"],
        "an Agent Framework message",
        "write its contents as \"content\" of your provider's shape",
    ),
    kind(&["author", "content.parts"], "an event of Google's ADK", "pass [event.content for event in events]"),
    kind(&["content.parts"], "an answer of Gemini", "pass candidate.content of response.candidates[0]"),
    kind(&["candidates"], "an answer of Gemini", "pass response.candidates[0].content"),
    kind(&["choices"], "an answer of Chat Completions", "pass completion.choices[0].message"),
    kind(&["message{}", "index"], "an answer of Chat Completions", "pass choice.message"),
    kind(&["output.message"], "an answer of Bedrock", "pass response[\"output\"][\"message\"]"),
    kind(&["output", "object"], "an answer of Responses", "pass the items of response.output"),
    kind(&["message{}"], "an entry of a log", "read the file with trimtab.read(path), or pass entry[\"message\"]"),
    kind(&["role", "content{}"], "an MCP message", MCP),
    kind(&["content.mimeType"], "an MCP message", MCP),
    kind(&["content.toolUseId"], "an MCP message", MCP),
    kind(&["role", "message"], "a message of Cohere's first API", "write \"message\" as \"content\""),
    kind(
        &["from", "value"],
        "a ShareGPT message",
        "write \"from\" as \"role\" (\"user\", \"assistant\"), \"value\" as \"content\"",
    ),
];

/// The kind of a framework's message, `None` where its fields are no framework's.
///
/// # Errors
///
/// Errors of the view.
pub fn recognize<N: Node>(message: &N) -> Result<Option<&'static Foreign>, Error> {
    let mut fields = HashSet::new();
    message.entries(&mut |name, value| {
        fields.insert(name.to_owned());
        if value.shape() == Shape::Map {
            fields.insert(format!("{name}{{}}"));
        }
        let mut inside = |part: &N| {
            part.entries(&mut |key, _| {
                fields.insert(format!("{name}.{key}"));
                Ok(())
            })
        };
        inside(&value)?;
        value.items(&mut |item| inside(&item))
    })?;
    Ok(KINDS.iter().find(|kind| kind.fields.iter().all(|field| fields.contains(*field))))
}
