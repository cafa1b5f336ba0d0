//! Tokens of images and documents, from the headers in their data; no pixel is decoded.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem;

use crate::error::Error;

/// Tokens of a text page of a PDF, measured on Claude 4.5 to 5.5 (the documentation says 1,500 to 3,000).
const PDF_PAGE: u32 = 2_300;

/// Base64 characters that count as a PDF page (50 KB) if a compressed structure hides the number of pages. A guess.
const PDF_PAGE_CHARS: usize = 67_000;

/// Bytes before and behind a `/Count` that are searched for the `/Pages` of its object.
const PDF_OBJECT: usize = 64 * 1024;

/// Most pages of a document: no provider accepts a tenth of them, and a broken file can claim any number.
pub const PDF_MOST: u32 = 10_000;

/// Most `/Count` entries that are read: a file has one for each node of its page tree.
const PDF_COUNTS: usize = 1_000;

/// Base64 characters by which a file is found to be no text: a multiple of four, so that they decode.
const TEXT_CHARS: usize = 1_024;

/// Base64 characters that are decoded: JPEG metadata can put the size behind tens of kilobytes.
const HEADER_CHARS: usize = 128 * 1024;

/// Width and height of a base64 image, `None` if its header cannot be read.
///
/// # Examples
///
/// ```
/// let png = "iVBORw0KGgoAAAANSUhEUgAAAMgAAADIEAYAAAD9yHLdAAAA";
/// assert_eq!(trimtab_core::media::image_size(png), Some((200, 200)));
/// assert_eq!(trimtab_core::media::image_size("not an image"), None);
/// ```
#[must_use]
pub fn image_size(base64: &str) -> Option<(u32, u32)> {
    let bytes = base64.as_bytes();
    let head = &bytes[..bytes.len().min(HEADER_CHARS)];
    let whole = &head[..head.len() / 4 * 4]; // a cut inside a group of four would not decode
    let unpadded = whole.iter().rposition(|&b| b != b'=').map_or(0, |i| i + 1);
    let decoded = STANDARD_NO_PAD.decode(&whole[..unpadded]).ok()?;
    let size = imagesize::blob_size(&decoded).ok()?;
    Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?))
}

/// A model's pricing rule for pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vision {
    /// Claude before 4.7: 28-pixel patches, at most 1,568 pixels a side and 1,568 tokens.
    #[default]
    Standard,
    /// Claude from 4.7: at most 2,576 pixels a side and 4,784 tokens.
    High,
    /// `OpenAI`: a picture shrinks to 2,048 pixels a side, then to 768 on its short side; `base`, and `tile` for each tile
    /// of 512 pixels.
    Tiles {
        /// Tokens of any picture; the whole charge in low detail.
        base: u32,
        /// Tokens of a tile.
        tile: u32,
    },
    /// `OpenAI`'s small models, and all from gpt-5.2 on: patches of 32 pixels; a picture shrinks to a number of them.
    Patches {
        /// Most patches.
        most: u32,
        /// Tokens of 1,000 patches.
        thousand: u32,
    },
}

impl Vision {
    /// The rules by name.
    pub const NAMES: [(&'static str, Self); 12] = [
        ("standard", Self::Standard),
        ("high", Self::High),
        ("tiles", Self::Tiles { base: 85, tile: 170 }),
        ("tiles-5", Self::Tiles { base: 70, tile: 140 }),
        ("tiles-mini", Self::Tiles { base: 2_833, tile: 5_667 }),
        ("tiles-o", Self::Tiles { base: 75, tile: 150 }),
        ("patches-1.2", Self::Patches { most: 1_536, thousand: 1_200 }),
        ("patches-1.5", Self::Patches { most: 1_536, thousand: 1_500 }),
        ("patches-1.62", Self::Patches { most: 1_536, thousand: 1_620 }),
        ("patches-1.72", Self::Patches { most: 1_536, thousand: 1_720 }),
        ("patches-2.46", Self::Patches { most: 1_536, thousand: 2_460 }),
        ("patches-1.2-wide", Self::Patches { most: 2_500, thousand: 1_200 }),
    ];

    /// The rule of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] lists the valid names.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown way to charge pictures {name:?}, known are {known}"))
        })
    }

    /// Tokens of an image of `width` by `height` pixels, after the provider has shrunk it.
    ///
    /// Sources: Anthropic documentation, "Vision"; `OpenAI` documentation, "Images and vision".
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::media::Vision;
    ///
    /// assert_eq!(Vision::Standard.patches(200, 200), 64);
    /// assert_eq!(Vision::Standard.patches(1920, 1080), 1_560);
    /// assert_eq!(Vision::High.patches(1920, 1080), 2_691);
    /// assert_eq!(Vision::Tiles { base: 85, tile: 170 }.patches(1024, 1024), 765);
    /// ```
    #[must_use]
    pub fn patches(self, width: u32, height: u32) -> u32 {
        let (long, short) = (width.max(height).max(1), width.min(height).max(1));
        match self {
            Self::Standard => fitted(long, short, 1_568, 1_568),
            Self::High => fitted(long, short, 2_576, 4_784),
            Self::Tiles { base, tile } => {
                let (l, s) = (u64::from(long), u64::from(short));
                // The scale is a fraction: the smallest of 2048 / long side, 768 / short side and 1.
                let (n, d) = [(768, s), (2048, l)]
                    .into_iter()
                    .fold((1, 1), |(n, d), (limit, side)| if limit * d < n * side { (limit, side) } else { (n, d) });
                let tiles = |side: u64| (side * n).div_ceil(d * 512).max(1);
                base.saturating_add(u32::try_from(tiles(l) * tiles(s)).unwrap_or(u32::MAX).saturating_mul(tile))
            }
            Self::Patches { most, thousand } => (covered(long, short, most) * thousand).div_ceil(1_000),
        }
    }

    /// Tokens of a picture in low detail, if the model has that: the base alone.
    #[must_use]
    pub fn low(self) -> Option<u32> {
        match self {
            Self::Tiles { base, .. } => Some(base),
            Self::Standard | Self::High | Self::Patches { .. } => None,
        }
    }

    /// Tokens of a picture of unknown size (a URL, a file id): one at the model's limit, in a ratio of 16 to 9.
    #[must_use]
    pub fn unknown(self) -> u32 {
        self.patches(3_840, 2_160)
    }

    /// Tokens of a base64 image; [`Vision::unknown`] if its header cannot be read.
    #[must_use]
    pub fn image(self, base64: &str) -> u32 {
        image_size(base64).map_or(self.unknown(), |(w, h)| self.patches(w, h))
    }

    /// Tokens of an encoded file that is no text and may be a picture: by its header, or as a document.
    #[must_use]
    pub fn file(self, base64: &str) -> u32 {
        image_size(base64).map_or_else(|| document_tokens(base64, pdf_pages(base64)), |(w, h)| self.patches(w, h))
    }
}

/// Patches of 32 pixels. A picture of more than `most` shrinks until `most` cover it and one side has whole patches.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole numbers up to `most`
fn covered(long: u32, short: u32, most: u32) -> u32 {
    let (sides, limit) = ([long, short].map(|side| f64::from(side) / 32.0), f64::from(most));
    let cover = |sides: [f64; 2]| sides.map(|side| (side - 1e-9).ceil().max(1.0)).iter().product::<f64>();
    if cover(sides) <= limit {
        return cover(sides) as u32;
    }
    let scale = (limit / (sides[0] * sides[1])).sqrt();
    let whole = sides.map(|side| (side * scale).floor().max(1.0) / (side * scale)).into_iter().fold(1.0, f64::min);
    cover(sides.map(|side| side * scale * whole)).min(limit) as u32
}

/// Patches of 28 pixels, after shrinking to the largest size of the same ratio within both limits.
fn fitted(long: u32, short: u32, edge: u32, tokens: u32) -> u32 {
    let fits = |l: u32, s: u32| {
        l.div_ceil(28) * 28 <= edge && s.div_ceil(28) * 28 <= edge && l.div_ceil(28) * s.div_ceil(28) <= tokens
    };
    let other = |l: u32| {
        // half to even, in whole numbers
        let (n, d) = (u64::from(short) * u64::from(l), u64::from(long));
        let (q, r) = (n / d, n % d);
        let up = 2 * r > d || (2 * r == d && q % 2 == 1);
        u32::try_from(q + u64::from(up)).unwrap_or(u32::MAX).max(1)
    };
    if long <= edge && fits(long, short) {
        return long.div_ceil(28) * short.div_ceil(28);
    }
    let (mut low, mut high) = (1, long.min(edge)); // the largest long edge that fits, by bisection
    while low < high {
        let mid = (low + high).div_ceil(2);
        if fits(mid, other(mid)) { low = mid } else { high = mid - 1 }
    }
    low.div_ceil(28) * other(low).div_ceil(28)
}

/// The text of a base64 file that is text: a provider passes on the words of such a file. None of a picture, of a PDF and
/// of all other files that are not UTF-8 or hold a NUL.
///
/// # Examples
///
/// ```
/// assert_eq!(trimtab_core::media::file_text("YSxiCjEsMg==").as_deref(), Some("a,b\n1,2"));
/// assert_eq!(trimtab_core::media::file_text("JVBERi0xLjQ="), None); // %PDF-1.4
/// ```
#[must_use]
pub fn file_text(base64: &str) -> Option<String> {
    let decoded = |base64: &str| {
        let unpadded = base64.trim_end_matches('=');
        STANDARD_NO_PAD.decode(unpadded).or_else(|_| URL_SAFE_NO_PAD.decode(unpadded)).ok()
    };
    // The beginning alone tells of nearly all other files what they are; its end may part a character.
    let start = decoded(base64.get(..TEXT_CHARS).unwrap_or(base64))?;
    let is_text = str::from_utf8(&start).map_or_else(|error| error.error_len().is_none(), |_| true);
    if base64.is_empty() || !is_text || start.starts_with(b"%PDF") || start.contains(&0) {
        return None;
    }
    String::from_utf8(decoded(base64)?).ok().filter(|text| !text.contains('\0'))
}

/// Tokens of a base64 document: by its number of `pages` if that could be read, else by size.
#[must_use]
pub fn document_tokens(base64: &str, pages: Option<u32>) -> u32 {
    let by_size = || u32::try_from(base64.len().div_ceil(PDF_PAGE_CHARS)).unwrap_or(u32::MAX);
    pages.unwrap_or_else(by_size).clamp(1, PDF_MOST).saturating_mul(PDF_PAGE)
}

/// Pages of a base64 PDF, from the root of its page tree (ISO 32000-1, 7.7.3.2) or from the header of a linearized file
/// (annex F); `None` for other data, and if the entry is compressed.
///
/// # Examples
///
/// ```
/// use base64::{Engine as _, engine::general_purpose::STANDARD};
///
/// let file = "%PDF-1.4\n1 0 obj\n<< /Type /Pages /Kids [2 0 R 3 0 R] /Count 2 >>\nendobj";
/// assert_eq!(trimtab_core::media::pdf_pages(&STANDARD.encode(file)), Some(2));
/// assert_eq!(trimtab_core::media::pdf_pages("not a document"), None);
/// ```
#[must_use]
pub fn pdf_pages(base64: &str) -> Option<u32> {
    if !base64.starts_with("JVBER") {
        return None; // "%PDF"
    }
    let unpadded = base64.trim_end_matches('=').as_bytes();
    let bytes = STANDARD_NO_PAD.decode(unpadded).ok()?;
    let head = &bytes[..bytes.len().min(1_024)];
    if let Some(at) = memmem::find(head, b"/Linearized")
        && let Some(pages) = memmem::find(&head[at..], b"/N ").and_then(|n| number(&head[at + n + 3..]))
    {
        return Some(pages);
    }
    let counts = memmem::find_iter(&bytes, b"/Count").take(PDF_COUNTS);
    counts.filter(|&at| in_pages(&bytes, at)).filter_map(|at| number(&bytes[at + 6..])).max()
}

/// Whether the object around `at` is a node of the page tree.
fn in_pages(bytes: &[u8], at: usize) -> bool {
    let (before, behind) = (&bytes[at.saturating_sub(PDF_OBJECT)..at], &bytes[at..bytes.len().min(at + PDF_OBJECT)]);
    let start = memmem::rfind(before, b"obj").unwrap_or(0);
    let stop = memmem::find(behind, b"endobj").unwrap_or(behind.len());
    [&before[start..], &behind[..stop]].iter().any(|part| memmem::find(part, b"/Pages").is_some())
}

/// The number at the start of `bytes`, after white space.
fn number(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.trim_ascii_start();
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    str::from_utf8(&digits[..length]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_examples_hold() {
        let tiles = Vision::Tiles { base: 85, tile: 170 };
        let patches = Vision::Patches { most: 1_536, thousand: 1_000 }; // the examples leave the factor out
        for (vision, w, h, tokens) in [
            (Vision::Standard, 200, 200, 64),
            (Vision::Standard, 1000, 1000, 1_296),
            (Vision::Standard, 1092, 1092, 1_521),
            (Vision::Standard, 1920, 1080, 1_560),
            (Vision::Standard, 3840, 2160, 1_560),
            (Vision::Standard, 1075, 1520, 1_551),
            (Vision::High, 200, 200, 64),
            (Vision::High, 1000, 1000, 1_296),
            (Vision::High, 1092, 1092, 1_521),
            (Vision::High, 1920, 1080, 2_691),
            (Vision::High, 3840, 2160, 4_784),
            (tiles, 1024, 1024, 765),
            (tiles, 2048, 4096, 1_105),
            (patches, 1024, 1024, 1_024),
            (patches, 1800, 2400, 1_452),
        ] {
            assert_eq!(vision.patches(w, h), tokens, "{vision:?} {w} x {h}");
        }
    }

    /// Charges for gpt-5-mini (community.openai.com, "GPT-5-mini image input token calculation discrepancy").
    #[test]
    fn pictures_of_small_models_cost_what_was_charged() {
        let mini = Vision::named("patches-1.2").expect("it has a name");
        let charged = [(256, 256, 77), (512, 512, 308), (768, 1024, 922), (1280, 720, 1_104), (2048, 768, 1_844)];
        for (w, h, tokens) in charged {
            assert_eq!(mini.patches(w, h), tokens, "{w} x {h}");
        }
    }

    #[test]
    fn a_document_costs_its_pages_where_its_structure_says_how_many() {
        use base64::engine::general_purpose::STANDARD;
        let tree = "4 0 obj <</Count 2/Kids[5 0 R 6 0 R]/Parent 1 0 R/Type/Pages>> endobj";
        let outline = "9 0 obj <</Type/Outlines/Count 70>> endobj";
        let root = "1 0 obj << /Type /Pages\n/Count\n  12 /Kids [4 0 R] >> endobj";
        let web = "%PDF-1.5\n7 0 obj <</Linearized 1/L 9/H [ 1 2 ]/O 3/E 4/N 31/T 8>> endobj ";
        for (file, pages) in [
            (format!("%PDF-1.4\n{outline}{tree}{outline}{root}{outline}"), Some(12)),
            (format!("{web}{outline}{root}"), Some(31)),
            (web.replace("/N 31", "/N"), None),
            ("%PDF-1.7 /Count /Count -3 /Pages".to_owned(), None),
            (root.to_owned(), None),
        ] {
            let base64 = STANDARD.encode(&file);
            assert_eq!(pdf_pages(&base64), pages, "{file}");
            assert_eq!(document_tokens(&base64, pages), pages.unwrap_or(1) * PDF_PAGE);
        }
        assert_eq!(document_tokens(&format!("JVBERi0{}", "A".repeat(3 * PDF_PAGE_CHARS)), None), 4 * PDF_PAGE);
    }

    #[test]
    fn a_file_is_text_where_all_of_it_is() {
        use base64::engine::general_purpose::{STANDARD, URL_SAFE};
        let long = "zwölf,1\n".repeat(1_000); // a character crosses the end of the beginning in some shift of it
        for text in ["a", "a,b\n", "<svg/>", "\u{1F600}\u{1F600}?>", &long, &long[1..], &format!("a{long}")] {
            assert_eq!(file_text(&STANDARD.encode(text)).as_deref(), Some(text));
            assert_eq!(file_text(&URL_SAFE.encode(text)).as_deref(), Some(text));
        }
        let late = [long.as_bytes(), b"\xFF"].concat();
        for other in [&b"%PDF-1.4"[..], b"a\0b", b"\x89PNG\r\n", b"\xFF\xD8", b"PK\x03\x04\0", b"", &late] {
            assert_eq!(file_text(&STANDARD.encode(other)), None, "{other:?}");
        }
        assert_eq!(file_text("no base64!"), None);
    }

    #[test]
    fn the_thinnest_picture_has_a_size() {
        assert_eq!(Vision::Standard.patches(1, 8000), 56);
        assert!(Vision::Tiles { base: 85, tile: 170 }.patches(1, u32::MAX) > 85);
        assert_eq!(Vision::Patches { most: 1_536, thousand: 1_000 }.patches(1, u32::MAX), 1_536);
    }

    #[test]
    fn a_header_that_cannot_be_read_is_an_estimate() {
        for text in ["", "====", "a", "iVBORw0KGgo", "\u{1F600}\u{1F600}"] {
            assert_eq!(Vision::Standard.image(text), 1_560, "{text:?}");
        }
    }
}
