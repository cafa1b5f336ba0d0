//! How much a request may hold: pictures, their size, bytes, cache markers (rules A20 to A22).

use super::{Findings, Options};
use crate::ledger::Ledger;

/// Pixels of a picture's longer side.
const EDGE: u32 = 8_000;

/// The limit in a request with more than [`MANY`] pictures.
const EDGE_OF_MANY: u32 = 2_000;

/// Pictures up to which the larger limit holds.
const MANY: usize = 20;

/// Cache markers in a request.
pub const MARKERS: usize = 4;

pub fn check(found: &mut Findings<'_>, options: Options) {
    pictures(found, options);
    markers(found, options);
}

/// A22: bytes of the whole request.
pub fn bytes(found: &mut Findings<'_>, options: Options) {
    let bytes = found.ledger.request_bytes() + options.beside;
    if let Some(most) = options.request.filter(|most| bytes > *most)
        && let Some(last) = found.ledger.messages().checked_sub(1)
    {
        let words = format!("Request exceeds the maximum size: {bytes} bytes > {most} bytes");
        found.message(last, "request_too_large", words, "take pictures and files out, or compact");
    }
}

/// A21: number of pictures and pages, size of pictures.
fn pictures(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    let total = ledger.pictures.len();
    if let Some(row) = beyond(ledger, options.pictures) {
        let (pages, most) = (pages(ledger), options.pictures);
        let words = format!("messages: Too much media: {pages} document pages + {total} images > {most}");
        found.row(row, "too_many_images", words, "take the oldest pictures and documents out");
    }
    for picture in &ledger.pictures {
        let row = picture.row as usize;
        if picture.base64 > options.picture {
            let (mb, bytes) = (options.picture / (1024 * 1024), picture.base64);
            let words = format!("image exceeds {mb} MB maximum: {bytes} bytes > {} bytes", options.picture);
            found.row(row, "image_too_heavy", words, "send a smaller picture");
        }
        if picture.edge > EDGE {
            let words = format!("At least one of the image dimensions exceed max allowed size: {EDGE} pixels");
            found.row(row, "image_too_large", words, "scale the picture down");
        } else if picture.edge > EDGE_OF_MANY && total > MANY {
            let words = format!(
                "At least one of the image dimensions exceed max allowed size for many-image requests: {EDGE_OF_MANY} pixels"
            );
            found.row(row, "image_too_large_many", words, "scale the picture down, or send fewer");
        }
    }
}

/// Pages of all documents.
fn pages(ledger: &Ledger) -> usize {
    ledger.documents.iter().map(|document| document.pages as usize).sum()
}

/// The row of the picture or document with which they have more than `most` pictures and pages.
fn beyond(ledger: &Ledger, most: usize) -> Option<usize> {
    if ledger.pictures.len() + pages(ledger) <= most {
        return None;
    }
    let pictures = ledger.pictures.iter().map(|picture| (picture.row, 1));
    let mut media: Vec<_> = pictures.chain(ledger.documents.iter().map(|d| (d.row, d.pages as usize))).collect();
    media.sort_by_key(|(row, _)| *row);
    let mut seen = 0;
    let passes = |(_, count): &&(u32, usize)| {
        seen += count;
        seen > most
    };
    media.iter().find(passes).map(|(row, _)| *row as usize)
}

/// A20: four cache markers at most, those outside of the messages counted.
pub fn markers(found: &mut Findings<'_>, options: Options) {
    let ledger = found.ledger;
    let total = options.markers + ledger.markers.iter().map(|count| usize::from(*count)).sum::<usize>();
    if total <= MARKERS {
        return;
    }
    let mut seen = options.markers;
    let fifth = ledger.markers.iter().position(|count| {
        seen += usize::from(*count);
        seen > MARKERS
    });
    if let Some(row) = fifth {
        let words = format!("A maximum of {MARKERS} blocks with cache_control may be provided. Found {total}.");
        found.row(row, "too_many_cache_control", words, "remove the oldest markers");
    }
}
