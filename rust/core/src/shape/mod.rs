//! Message shapes: one file a provider's, each reads a node into the builder.

mod anthropic;
mod bedrock;
mod foreign;
mod gemini;
pub mod items;
mod minimum;
mod openai_chat;
mod openai_responses;
mod parts;

use crate::error::Error;
use crate::ledger::{Builder, Role, Sink};
use crate::node::{Key, Node, Shape, Text};
use parts::text_of;

/// The provider whose shape messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// `OpenAI` Chat Completions, and those who speak it.
    OpenAiChat,
    /// `OpenAI` Responses.
    OpenAiResponses,
    /// Amazon Bedrock Converse.
    Bedrock,
    /// Gemini, as `contents`.
    Gemini,
}

impl Provider {
    /// The providers by name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("anthropic", Self::Anthropic),
        ("openai_chat", Self::OpenAiChat),
        ("openai_responses", Self::OpenAiResponses),
        ("bedrock", Self::Bedrock),
        ("gemini", Self::Gemini),
    ];

    /// The provider of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] names those that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, p)| *p).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown provider {name:?}, known are {known}"))
        })
    }

    /// The provider of that name; without one the provider that a list's messages tell, or else that named `fallback`.
    ///
    /// # Errors
    ///
    /// As [`Provider::named`].
    pub fn of(name: Option<&str>, told: &Detector, fallback: &str) -> Result<Self, Error> {
        let told = told.found_in_all().filter(|_| name.is_none());
        told.map_or_else(|| Self::named(name.unwrap_or(fallback)), Ok)
    }

    /// The name of the provider.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, p)| *p == self).map_or("", |(n, _)| n)
    }

    /// Reads one message into the builder.
    ///
    /// # Errors
    ///
    /// [`Error::Message`] with the path of what cannot be read, or is another shape's or a framework's message.
    pub fn read<N: Node, S: Sink<Text = N::Text>>(self, message: &N, builder: &mut Builder<S>) -> Result<(), Error> {
        if message.shape() != Shape::Map {
            builder.message(Role::Other);
            let what = format!("is {}, expected a mapping", message.shape().name());
            let hint = "a message is a dict such as {\"role\": \"user\", \"content\": \"...\"}; \
                        of LangChain's tuples langchain_core.messages.convert_to_messages(tuples) makes messages, which are read";
            return Err(builder.bad("", &what, hint));
        }
        let read = match self {
            Self::Anthropic => anthropic::read(message, builder),
            Self::OpenAiChat => openai_chat::read(message, builder),
            Self::OpenAiResponses => openai_responses::read(message, builder),
            Self::Bedrock => bedrock::read(message, builder),
            Self::Gemini => gemini::read(message, builder),
        };
        minimum::settle(self, message, read, builder)
    }
}

/// Finds the provider of a list from its messages, one after the other. It goes on where messages were added.
#[derive(Clone, Copy, Debug, Default)]
pub struct Detector {
    /// Messages that were looked at.
    seen: usize,
    /// The provider of the one that was looked at last.
    found: Option<Provider>,
    /// Position of the first message of system text.
    system: Option<usize>,
}

impl Detector {
    /// Looks at the next message; returns whether the provider is known.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn see<N: Node>(&mut self, message: &N) -> Result<bool, Error> {
        self.found = minimum::tell(message)?;
        if self.found.is_none() && self.system.is_none() && is_system(message)? {
            self.system = Some(self.seen);
        }
        self.seen += 1;
        Ok(self.found.is_some())
    }

    /// The detector after the first `messages`, and the position of the message that it looks at next; `None` if it knows
    /// the provider.
    #[must_use]
    pub fn after(self, messages: usize) -> (Self, Option<usize>) {
        if self.seen <= messages {
            return (self, self.found.is_none().then_some(self.seen));
        }
        // Only the last message that was looked at can tell.
        let system = self.system.filter(|at| *at < messages);
        (Self { seen: messages, found: None, system }, Some(messages))
    }

    /// The provider of a list of which messages may be missing; `None` where none of those seen tells.
    #[must_use]
    pub fn found(&self) -> Option<Provider> {
        self.found
    }

    /// The provider of a whole list: `OpenAI` Chat where nothing tells but system text at the start. Between the others,
    /// the models of several providers take it.
    #[must_use]
    pub fn found_in_all(&self) -> Option<Provider> {
        self.found.or(self.system.filter(|at| *at == 0).map(|_| Provider::OpenAiChat))
    }
}

/// Whether a message is system text.
fn is_system<N: Node>(message: &N) -> Result<bool, Error> {
    Ok(text_of(message, Key::Role)?.is_some_and(|role| matches!(&*role.text(), "system" | "developer")))
}
