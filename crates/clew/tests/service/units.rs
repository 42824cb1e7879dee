//! The units of the services.

macro_rules! unit {
    ($name:literal) => {
        (
            concat!("clew-", $name, "@acme.service"),
            include_str!(concat!(
                "../../../../contrib/systemd/clew-",
                $name,
                "@.service"
            )),
        )
    };
}

#[test]
fn the_units_are_sound_and_sandboxed() {
    for unit in [
        unit!("manager"),
        unit!("log"),
        unit!("witness"),
        unit!("trustee"),
    ] {
        crate::systemd::check(&[unit], 22);
    }
}
