//! Tokens of images and documents, from the first bytes of their data: nothing is decoded.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::error::Error;

/// A text page of a PDF, as measured on Claude 4.5 to 5.5 (1,500 to 3,000 in the documentation).
const PDF_PAGE: u32 = 2_300;

/// Base64 characters that are taken for a PDF page (50 KB), a guess: page counts need the file's structure, which is
/// not read yet.
const PDF_PAGE_CHARS: usize = 67_000;

/// Base64 characters that are looked at: JPEG metadata may put the size tens of kilobytes in.
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

/// How a model is charged for pictures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vision {
    /// Claude before 4.7: 28-pixel patches, at most 1,568 pixels a side and 1,568 tokens.
    #[default]
    Standard,
    /// Claude from 4.7: at most 2,576 pixels a side and 4,784 tokens.
    High,
    /// `OpenAI`'s: shrunk to fit 2,048 pixels a side, then 768 on the short one; `base` and `tile` for each 512-pixel tile.
    Tiles {
        /// Tokens of any picture; all that one of low detail costs.
        base: u32,
        /// Tokens of a tile.
        tile: u32,
    },
}

impl Vision {
    /// The ways by name.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("standard", Self::Standard),
        ("high", Self::High),
        ("tiles", Self::Tiles { base: 85, tile: 170 }),
        ("tiles-5", Self::Tiles { base: 70, tile: 140 }),
        ("tiles-mini", Self::Tiles { base: 2_833, tile: 5_667 }),
    ];

    /// The way of that name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] names those that there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        Self::NAMES.iter().find(|(n, _)| *n == name).map(|(_, v)| *v).ok_or_else(|| {
            let known = Self::NAMES.map(|(n, _)| n).join(", ");
            Error::Argument(format!("unknown way to charge pictures {name:?}, known are {known}"))
        })
    }

    /// Tokens of an image of `width` by `height` pixels, once shrunk as the provider shrinks it.
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
                // The scale is a fraction: 2048 over the long side, 768 over the short one, or 1, whichever is least.
                let (n, d) = [(768, s), (2048, l)]
                    .into_iter()
                    .fold((1, 1), |(n, d), (limit, side)| if limit * d < n * side { (limit, side) } else { (n, d) });
                let tiles = |side: u64| (side * n).div_ceil(d * 512).max(1);
                base.saturating_add(u32::try_from(tiles(l) * tiles(s)).unwrap_or(u32::MAX).saturating_mul(tile))
            }
        }
    }

    /// What a picture is charged where its size cannot be known (a URL, a file id): one that fills the model's limit at
    /// 16 to 9.
    #[must_use]
    pub fn unknown(self) -> u32 {
        self.patches(3_840, 2_160)
    }

    /// Tokens of a base64 image; [`Vision::unknown`] if its header cannot be read.
    #[must_use]
    pub fn image(self, base64: &str) -> u32 {
        image_size(base64).map_or(self.unknown(), |(w, h)| self.patches(w, h))
    }

    /// Tokens of an encoded file that may be a picture: by its header, else by its size.
    #[must_use]
    pub fn file(self, base64: &str) -> u32 {
        image_size(base64).map_or_else(|| document_tokens(base64), |(w, h)| self.patches(w, h))
    }
}

/// Patches of 28 pixels, shrunk to the largest size of that shape that keeps both limits.
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

/// Tokens of a base64 document, estimated from its size alone.
#[must_use]
pub fn document_tokens(base64: &str) -> u32 {
    let pages = u32::try_from(base64.len().div_ceil(PDF_PAGE_CHARS)).unwrap_or(u32::MAX);
    pages.max(1).saturating_mul(PDF_PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documented_examples_hold() {
        let tiles = Vision::Tiles { base: 85, tile: 170 };
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
        ] {
            assert_eq!(vision.patches(w, h), tokens, "{vision:?} {w} x {h}");
        }
    }

    #[test]
    fn the_thinnest_picture_has_a_size() {
        assert_eq!(Vision::Standard.patches(1, 8000), 56);
        assert!(Vision::Tiles { base: 85, tile: 170 }.patches(1, u32::MAX) > 85);
    }

    #[test]
    fn a_header_that_cannot_be_read_is_an_estimate() {
        for text in ["", "====", "a", "iVBORw0KGgo", "\u{1F600}\u{1F600}"] {
            assert_eq!(Vision::Standard.image(text), 1_560, "{text:?}");
        }
    }
}
