//! Headers of pictures and documents: any bytes have a price, and it is bounded.
#![no_main]

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use libfuzzer_sys::fuzz_target;
use trimtab_core::media::{Vision, document_tokens, image_size, pdf_pages};

/// The beginnings of the formats that are known, so that chance need not find them.
const STARTS: [&[u8]; 8] = [
    b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    b"GIF89a",
    b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    b"RIFF\0\0\0\0WEBPVP8 ",
    b"RIFF\0\0\0\0WEBPVP8X",
    b"BM",
    b"%PDF-1.7\n",
    b"",
];

fuzz_target!(|data: &[u8]| {
    let [start, rest @ ..] = data else { return };
    let base64 = if start & 8 == 0 {
        STANDARD.encode([STARTS[usize::from(start & 7)], rest].concat())
    } else {
        String::from_utf8_lossy(rest).into_owned()
    };
    let size = image_size(&base64);
    for (name, vision) in Vision::NAMES {
        let (price, unknown) = (vision.image(&base64), vision.unknown());
        assert!(price > 0 || unknown == 0, "{name}");
        match size {
            Some((width, height)) => assert_eq!(price, vision.patches(width, height), "{name}"),
            None => assert_eq!(price, unknown, "{name}"),
        }
        if let Vision::Standard | Vision::High = vision {
            let most = if vision == Vision::High { 4_784 } else { 1_568 };
            assert!(price <= most, "{name}: {size:?} costs {price}");
        }
        let _ = vision.file(&base64);
    }
    assert!(document_tokens(&base64, pdf_pages(&base64)) > 0);
});
