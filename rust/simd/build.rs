//! Sets the cfgs of the pages that are built: `avx2` and `v128` on x86-64, `v128` on aarch64; none where the feature
//! `portable` leaves the portable page alone.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(avx2)");
    println!("cargo::rustc-check-cfg=cfg(v128)");
    if std::env::var_os("CARGO_FEATURE_PORTABLE").is_some() {
        return;
    }
    let arch = std::env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    if arch == "x86_64" {
        println!("cargo::rustc-cfg=avx2");
    }
    if arch == "x86_64" || arch == "aarch64" {
        println!("cargo::rustc-cfg=v128");
    }
}
