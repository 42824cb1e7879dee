-- Shows the trailer of clew (spec/packet-trailer.md) and its UDP datagrams (spec/carriers.md) in
-- Wireshark and tshark, with the packets in them: every field can be filtered on (clew.mode == 3, clew.group == 7c:1e:..., clew.malformed). It reads and does not
-- verify. What holds is said by `clew verify -w`, which writes it as a comment on each packet; from
-- there come clew.verdict and clew.reason, but for malformed trailers, which show on their own.
-- How to install it: README.md beside this file.
--
--   tshark -X lua_script:clew.lua -r signed.pcap -Y clew
--
-- Section numbers are those of spec/packet-trailer.md; with a C before them, of spec/carriers.md. Arithmetic instead of bit operators: Lua 5.2
-- (Wireshark 4.0) and 5.4 (4.4 and later) have none in common.

local clew = Proto("clew", "clew Attribution Trailer")
-- The same datagrams on the usual port; the heuristic finds them on all others.
local clew_udp = Proto("clewudp", "clew Carrier")

local MAGIC, CARRIER_MAGIC = 0xc14c4557, 0xc16c6577
local PORT = 4909
local FOOT, HEAD, MARK_MAX = 9, 22, 16

local modes = { [0] = "mark", [1] = "each", [2] = "window", [3] = "tree" }
local schemes = { [1] = "bbs04", [2] = "xr" }
local carriages = { [1] = "full", [2] = "coded", [3] = "coded, short tags" }
-- C2
local carriers = { [1] = "udp-tunnel", [2] = "udp-transport", [3] = "fragment", [4] = "cookie" }
-- 3.3: size of the digests in tags, by coded carriage.
local tag_sizes = { [2] = 8, [3] = 4 }
-- 3.3: length of the signature, by scheme and by whether it is incremental.
local signature_lengths = { [1] = { [false] = 336, [true] = 1104 }, [2] = { [false] = 288, [true] = 336 } }

local function flag(name, text, mask)
    return ProtoField.bool("clew.flags." .. name, text, 8, nil, mask)
end

local f = {
    signature = ProtoField.bytes("clew.signature", "Signature"),
    needed = ProtoField.uint16("clew.code.k", "Packets that restore the signature"),
    share = ProtoField.bytes("clew.code.share", "Share of the signature"),
    tag = ProtoField.bytes("clew.code.tag", "Tag of the share"),
    id = ProtoField.bytes("clew.block.id", "Block"),
    index = ProtoField.uint16("clew.block.index", "Index, from 0"),
    count = ProtoField.uint16("clew.block.count", "Packets of the block"),
    digest = ProtoField.uint8("clew.block.digest", "Digest size"),
    depth = ProtoField.uint8("clew.block.depth", "Depth"),
    path = ProtoField.bytes("clew.block.path", "Path to the root"),
    k = ProtoField.uint16("clew.window.k", "Packets of the window"),
    h = ProtoField.bytes("clew.window.h", "Hash of the packets before"),
    ipv4_checksum = ProtoField.uint16("clew.saved.ipv4_checksum", "Saved IPv4 checksum", base.HEX),
    udp_length = ProtoField.uint16("clew.saved.udp_length", "Saved UDP length"),
    l4_checksum = ProtoField.uint16("clew.saved.l4_checksum", "Saved L4 checksum", base.HEX),
    group = ProtoField.bytes("clew.group", "Group"),
    epoch = ProtoField.uint32("clew.epoch", "Epoch"),
    timestamp = ProtoField.absolute_time("clew.timestamp", "Signed at", base.UTC),
    scheme = ProtoField.uint8("clew.scheme", "Scheme", base.DEC, schemes),
    carriage = ProtoField.uint8("clew.carriage", "Carriage", base.DEC, carriages),
    flags = ProtoField.uint8("clew.flags", "Flags", base.HEX),
    nat = flag("nat", "Source is not signed", 0x01),
    tolerant = flag("tolerant", "ECN flags and MSS are not signed", 0x02),
    has_ipv4_checksum = flag("ipv4_checksum", "IPv4 checksum saved", 0x04),
    has_udp_length = flag("udp_length", "UDP length saved", 0x08),
    has_l4_checksum = flag("l4_checksum", "L4 checksum saved", 0x10),
    incremental = flag("incremental", "Incremental form", 0x20),
    reserved = ProtoField.uint8("clew.flags.reserved", "Reserved", base.HEX, nil, 0xc0),
    mode = ProtoField.uint8("clew.mode", "Mode", base.DEC, modes),
    length = ProtoField.uint16("clew.length", "Length"),
    version = ProtoField.uint8("clew.version", "Version"),
    magic = ProtoField.uint32("clew.magic", "Magic", base.HEX),
    mark_count = ProtoField.uint8("clew.mark.count", "Runs of signing that passed it"),
    mark_length = ProtoField.uint16("clew.mark.length", "Length of the mark"),
    mark_flags = ProtoField.uint8("clew.mark.flags", "Flags of the mark", base.HEX),
    mark_ipv4_checksum = ProtoField.uint16("clew.mark.saved.ipv4_checksum", "Saved IPv4 checksum", base.HEX),
    mark_udp_length = ProtoField.uint16("clew.mark.saved.udp_length", "Saved UDP length"),
    mark_l4_checksum = ProtoField.uint16("clew.mark.saved.l4_checksum", "Saved L4 checksum", base.HEX),
    carrier_magic = ProtoField.uint32("clew.carrier.magic", "Magic", base.HEX),
    carrier = ProtoField.uint8("clew.carrier.type", "Type", base.DEC, carriers, 0x7f),
    has_cookie = ProtoField.bool("clew.carrier.has_cookie", "Has a cookie", 8, nil, 0x80),
    cookie = ProtoField.bytes("clew.cookie", "Cookie"),
    echo = ProtoField.bytes("clew.cookie.echo", "Echo of the datagram that it answers"),
    content = ProtoField.uint16("clew.carrier.length", "Length of the content"),
    protocol = ProtoField.uint8("clew.carrier.protocol", "Protocol of the inner packet"),
    fragment_id = ProtoField.bytes("clew.fragment.id", "Fragments of"),
    fragment_index = ProtoField.uint8("clew.fragment.index", "Index, from 0"),
    fragment_count = ProtoField.uint8("clew.fragment.count", "Fragments"),
    fragment_part = ProtoField.bytes("clew.fragment.part", "Part"),
    packet_in = ProtoField.framenum("clew.fragment.packet_in", "The packet is whole in"),
    verdict = ProtoField.string("clew.verdict", "Verdict"),
    reason = ProtoField.string("clew.reason", "Reason"),
}
clew.fields = f

local function expertise(name, text, group, severity)
    return ProtoExpert.new("clew." .. name, text, expert.group[group], expert.severity[severity])
end

local experts = {
    malformed = expertise("malformed", "Malformed trailer or datagram", "MALFORMED", "ERROR"),
    invalid = expertise("invalid", "Invalid", "SECURITY", "ERROR"),
    undecided = expertise("undecided", "Undecided", "SECURITY", "WARN"),
    unsigned = expertise("unsigned", "Unsigned", "SECURITY", "NOTE"),
    valid = expertise("remark", "Valid, with a remark", "SECURITY", "NOTE"),
}
clew.experts = { experts.malformed, experts.invalid, experts.undecided, experts.unsigned, experts.valid }

local encapsulation = Field.new("frame.encap_type")
local comments = Field.new("frame.comment")
local frame_time = Field.new("frame.time_epoch")
local sources = { [4] = Field.new("ip.src"), [6] = Field.new("ipv6.src") }
local destinations = { [4] = Field.new("ip.dst"), [6] = Field.new("ipv6.dst") }

-- Reading. Beyond the captured bytes stands nil, which equals no number.

local function u8(tvb, at)
    if at + 1 <= tvb:len() then return tvb(at, 1):uint() end
end

local function u16(tvb, at)
    if at + 2 <= tvb:len() then return tvb(at, 2):uint() end
end

local function bit(value, mask)
    return math.floor(value / mask) % 2 == 1
end

-- 2.1: the way down. Each returns the offset of the IP header, the version that the link layer
-- promises, and the length fields of 802.3 and PPPoE that cover the datagram.

local function ppp(tvb, at, lengths)
    local protocol = u8(tvb, at)
    local start = at + 1
    if protocol and protocol % 2 == 0 then
        protocol, start = u16(tvb, at), at + 2
    end
    if protocol == 0x21 then return start, 4, lengths end
    if protocol == 0x57 then return start, 6, lengths end
end

local function ethertype(tvb, at, start, may_be_length, lengths)
    for _ = 0, 8 do
        local kind = u16(tvb, at)
        if kind == nil then return end
        if kind == 0x0800 then return start, 4, lengths end
        if kind == 0x86dd then return start, 6, lengths end
        if kind == 0x8864 then
            if u16(tvb, start) ~= 0x1100 then return end
            local stated = u16(tvb, start + 4)
            if stated == nil then return end
            lengths[#lengths + 1] = { from = start + 6, value = stated, max = 65535 }
            return ppp(tvb, start + 6, lengths)
        end
        if kind == 0x8100 or kind == 0x88a8 or kind == 0x9100 then
            at, start = start + 2, start + 4
        elseif kind <= 1500 and may_be_length then
            local llc = u16(tvb, start) == 0xaaaa and u16(tvb, start + 2) == 0x0300 and u16(tvb, start + 4) == 0
            if not llc then return end
            lengths[#lengths + 1] = { from = start, value = kind, max = 1500 }
            return ethertype(tvb, start + 6, start + 8, false, lengths)
        else
            return
        end
    end
end

local families = { [2] = 4, [10] = 6, [23] = 6, [24] = 6, [28] = 6, [30] = 6 }

local function loopback(tvb, either_order)
    if tvb:len() < 4 then return end
    local version = families[tvb(0, 4):uint()]
    if either_order and not version then version = families[tvb(0, 4):le_uint()] end
    if version then return 4, version, {} end
end

local descents = {
    [wtap_encaps.NULL] = function(tvb) return loopback(tvb, true) end,
    [wtap_encaps.LOOP] = function(tvb) return loopback(tvb, false) end,
    [wtap_encaps.ETHERNET] = function(tvb) return ethertype(tvb, 12, 14, true, {}) end,
    [wtap_encaps.PPP] = function(tvb) return ppp(tvb, u16(tvb, 0) == 0xff03 and 2 or 0, {}) end,
    [wtap_encaps.RAW_IP] = function(tvb)
        local first = u8(tvb, 0)
        return 0, first and math.floor(first / 16), {}
    end,
    [wtap_encaps.RAW_IP4] = function() return 0, 4, {} end,
    [wtap_encaps.RAW_IP6] = function() return 0, 6, {} end,
    [wtap_encaps.SLL] = function(tvb) return ethertype(tvb, 14, 16, false, {}) end,
    [wtap_encaps.SLL2] = function(tvb) return ethertype(tvb, 0, 20, false, {}) end,
}

-- 2: the datagram. Returns nothing if it cannot carry a trailer; of lengths, `has_magic` refuses those
-- that leave no room for it.

local function ipv4(tvb, start)
    if start + 20 > tvb:len() then return end
    local header, total = u8(tvb, start) % 16 * 4, u16(tvb, start + 2)
    local is_fragment = u16(tvb, start + 6) % 0x4000 ~= 0
    if header < 20 or is_fragment then return end
    return {
        version = 4, is_plain = header == 20, upper = start + header, to = start + total, protocol = u8(tvb, start + 9),
        lengths = { { value = total, max = 65535 } },
    }
end

-- A routing header with segments left must name the final destination.
local function names_destination(tvb, at, length)
    if u8(tvb, at + 3) == 0 then return true end
    local kind = u8(tvb, at + 2)
    if length < 24 then return false end
    return kind == 2 or kind == 4 or kind == 0 and (length - 8) % 16 == 0
end

local function ipv6(tvb, start)
    if start + 40 > tvb:len() then return end
    local payload, protocol = u16(tvb, start + 4), u8(tvb, start + 6)
    local at = start + 40
    local to, headers, is_routed = at + payload, 0, false
    if to > tvb:len() then return end
    while protocol == 0 or protocol == 43 or protocol == 60 do
        headers = headers + 1
        if headers > 8 or at + 2 > to then return end
        local length = (u8(tvb, at + 1) + 1) * 8
        if at + length > to then return end
        if protocol == 43 and not names_destination(tvb, at, length) then return end
        is_routed = is_routed or protocol == 43 and u8(tvb, at + 3) > 0
        protocol, at = u8(tvb, at), at + length
    end
    if protocol == 44 then return end
    return {
        version = 6, is_plain = headers == 0, is_routed = is_routed, upper = at, to = to, protocol = protocol,
        lengths = { { value = payload, max = 65535 } },
    }
end

local function locate(tvb)
    local encap = encapsulation()
    local descend = encap and descents[encap.value]
    if not descend then return end
    local start, version, lengths = descend(tvb)
    local first = start and u8(tvb, start)
    if not first or math.floor(first / 16) ~= version then return end
    local datagram
    if version == 4 then datagram = ipv4(tvb, start) end
    if version == 6 then datagram = ipv6(tvb, start) end
    if not datagram or datagram.to > tvb:len() then return end
    for _, length in ipairs(lengths) do
        if datagram.to > length.from + length.value then return end
        table.insert(datagram.lengths, length)
    end
    datagram.room = 65535
    for _, length in ipairs(datagram.lengths) do
        datagram.room = math.min(datagram.room, length.max - length.value)
    end
    return datagram
end

-- 3: the layout. Offsets of all parts, or what is wrong, by the reasons of section 7.

local function read_foot(tvb, upper, to)
    if to - upper < FOOT then return nil, "bad-trailer-length" end
    local at = to - FOOT
    local foot = {
        at = at, flags = u8(tvb, at), mode = u8(tvb, at + 1),
        length = u16(tvb, at + 2), version = u8(tvb, at + 4),
    }
    if foot.version ~= 1 then return foot, "unknown-version" end
    if foot.length < FOOT or foot.length > to - upper then return foot, "bad-trailer-length" end
    return foot
end

local saved_flags = { { "ipv4_checksum", 0x04 }, { "udp_length", 0x08 }, { "l4_checksum", 0x10 } }

local function saved_length(flags)
    local length = 0
    for _, saved in ipairs(saved_flags) do
        if bit(flags, saved[2]) then length = length + 2 end
    end
    return length
end

-- Whether a packet of that kind has what is said to be saved; `length` is of its own upper layer.
local function makes_sense(flags, datagram, length)
    local protocol, v4 = datagram.protocol, datagram.version == 4
    local udp = protocol == 17 and length >= 8
    local l4 = udp or protocol == 6 and length >= 20
        or length >= 8 and (protocol == 1 and v4 or protocol == 58 and not v4)
    return (v4 or not bit(flags, 0x04)) and (udp or not bit(flags, 0x08)) and (l4 or not bit(flags, 0x10))
end

-- tree.md 2: how many digests lead from a leaf to the root.
local function path_length(index, count)
    local own, last, digests = index, count - 1, 0
    while last > 0 do
        if own % 2 == 1 or own < last then digests = digests + 1 end
        own, last = math.floor(own / 2), math.floor(last / 2)
    end
    return digests
end

local function is_zero(tvb, at, length)
    for i = at, at + length - 1 do
        if u8(tvb, i) ~= 0 then return false end
    end
    return true
end

local function check_window(tvb, at, length)
    if length ~= 34 then return "bad-trailer-length" end
    local k = u16(tvb, at)
    if k < 1 or k > 1024 or k == 1 and not is_zero(tvb, at + 2, 32) then return "bad-block" end
end

local function check_tree(tvb, at, length)
    if length < 22 then return "bad-trailer-length" end
    local index, count = u16(tvb, at + 16), u16(tvb, at + 18)
    local digest, depth = u8(tvb, at + 20), u8(tvb, at + 21)
    if length - 22 ~= digest * depth then return "bad-trailer-length" end
    local sizes = digest == 16 or digest == 24 or digest == 32
    if not sizes or count < 1 or count > 1024 or index >= count then return "bad-block" end
    if path_length(index, count) ~= depth then return "bad-block" end
end

local function check_block(tvb, mode, at, length)
    if mode == 2 then return check_window(tvb, at, length) end
    if mode == 3 then return check_tree(tvb, at, length) end
    if length ~= 0 then return "bad-trailer-length" end
end

-- 3.3, coded: where the body begins, behind the block section; or what is wrong.
local function find_share(tvb, at, to, signature, tag_size)
    if to - at < 22 then return nil, "bad-trailer-length" end
    local depth = u8(tvb, at + 21)
    local body = at + 22 + u8(tvb, at + 20) * depth
    if to - body < 2 then return nil, "bad-trailer-length" end
    local k = u16(tvb, body)
    if k == 0 then return nil, "bad-code" end
    local share = math.ceil(signature / k)
    if to - body ~= 2 + share + tag_size * depth then return nil, "bad-trailer-length" end
    return body, nil, share
end

local function check_code(tvb, block, body)
    local count, k = u16(tvb, block + 18), u16(tvb, body)
    if count < 9 or count > 128 or k < count / 4 or k > count then return "bad-code" end
end

-- Block section first: it says how long the rest is.
local function read_coded(tvb, t, start, signature, tag_size)
    local body, bad, share = find_share(tvb, start, t.saved, signature, tag_size)
    if bad then return bad end
    t.start, t.block, t.block_end, t.needed = start, start, body, body
    t.share, t.tag = body + 2, body + 2 + share
    return check_block(tvb, t.mode, start, body - start) or check_code(tvb, start, body)
end

-- In full: the signature first, whose length is known.
local function read_full(tvb, t, start, signature)
    local block = start + signature
    if block > t.saved then return "bad-trailer-length" end
    local bad = check_block(tvb, t.mode, block, t.saved - block)
    if bad ~= "bad-trailer-length" then t.start, t.block, t.block_end = start, block, t.saved end
    return bad
end

local function read_trailer(tvb, upper, to)
    local t, wrong = read_foot(tvb, upper, to)
    if wrong then return t, wrong end
    if t.mode < 1 or t.mode > 3 then return t, "unknown-mode" end
    if t.flags >= 0x40 then return t, "reserved-bits" end
    local start, saved = to - t.length, saved_length(t.flags)
    if t.length < FOOT + HEAD + saved then return t, "bad-trailer-length" end
    local head = t.at - HEAD
    t.head, t.saved = head, head - saved
    local scheme, carriage = signature_lengths[u8(tvb, head + 20)], u8(tvb, head + 21)
    local tag_size = t.mode == 3 and tag_sizes[carriage]
    if carriage ~= 1 and not tag_size then return t, "unknown-carriage" end
    if not scheme then return t, "unknown-scheme" end
    local signature = scheme[bit(t.flags, 0x20)]
    if tag_size then return t, read_coded(tvb, t, start, signature, tag_size) end
    return t, read_full(tvb, t, start, signature)
end

local function read_mark(tvb, datagram)
    local upper, to = datagram.upper, datagram.to
    local m, wrong = read_foot(tvb, upper, to)
    if wrong then return m, wrong end
    local saved = saved_length(m.flags)
    if m.flags >= 0x20 or m.flags % 4 ~= 0 then return m, "reserved-bits" end
    if m.length ~= saved + 1 + FOOT then return m, "bad-trailer-length" end
    m.start, m.saved, m.count = to - m.length, to - m.length, m.at - 1
    if u8(tvb, m.count) == 0 then return m, "bad-mark" end
    if datagram.room + m.length < MARK_MAX then return m, "bad-mark" end
    return m
end

local function has_magic(tvb, upper, to)
    return to - upper >= 4 and tvb(to - 4, 4):uint() == MAGIC
end

-- Returns the trailer, the mark if there is one, and what is wrong.
local function read(tvb, datagram)
    local upper, to = datagram.upper, datagram.to
    local foot, short = read_foot(tvb, upper, to)
    if not foot then return nil, nil, short end
    if foot.mode ~= 0 then
        if datagram.room < MARK_MAX then return nil, nil, "too-big" end
        local trailer, wrong = read_trailer(tvb, upper, to)
        local length = to - trailer.length - upper
        if not wrong and not makes_sense(trailer.flags, datagram, length) then wrong = "reserved-bits" end
        return trailer, nil, wrong
    end
    local mark, wrong = read_mark(tvb, datagram)
    if wrong then return nil, mark, wrong end
    if not has_magic(tvb, upper, mark.start) then return nil, mark, "bad-mark" end
    local trailer, within = read_trailer(tvb, upper, mark.start)
    if within then return trailer, mark, "bad-mark" end
    local length = mark.start - trailer.length - upper
    if not makes_sense(trailer.flags, datagram, length) then wrong = "bad-mark"
    elseif not makes_sense(mark.flags, datagram, length) then wrong = "reserved-bits" end
    return trailer, mark, wrong
end

-- C2: the datagrams. `c` has the offsets of all parts that are known, from the magic on.

local function read_tail(tvb, c, tail)
    local scheme, carriage = signature_lengths[u8(tvb, c.head + 24)], u8(tvb, c.head + 25)
    local tag_size = c.mode == 3 and tag_sizes[carriage]
    if carriage ~= 1 and not tag_size then return "unknown-carriage" end
    if not scheme then return "unknown-scheme" end
    local signature = scheme[bit(c.flags, 0x20)]
    c.saved = tvb:len()
    if tag_size then return read_coded(tvb, c, tail, signature, tag_size) end
    local length = c.saved - tail - signature
    if length < 0 then return "bad-carrier-length" end
    local bad = check_block(tvb, c.mode, tail, length)
    if bad ~= "bad-trailer-length" then c.block, c.block_end = tail, tail + length end
    return bad
end

-- C2.1: type 1 holds a whole datagram, which rule 2 makes signable.
local function check_inner(content)
    local first = u8(content, 0)
    local version = first and math.floor(first / 16)
    local inner
    if version == 4 then inner = ipv4(content, 0) end
    if version == 6 then inner = ipv6(content, 0) end
    if not inner or inner.is_routed then return "bad-carrier" end
    if inner.to ~= content:len() or inner.upper > inner.to then return "bad-carrier" end
    if version == 6 and u16(content, 4) == 0 then return "bad-carrier" end
end

local no_protocols = { [0] = true, [43] = true, [44] = true, [59] = true, [60] = true }

-- C2.1: type 2 holds a protocol and its bytes.
local function check_upper(content, is_v6)
    local protocol = u8(content, 0)
    if not protocol or no_protocols[protocol] or protocol >= 139 then return "bad-carrier" end
    if is_v6 and content:len() == 1 then return "bad-carrier" end
end

local function read_packet(tvb, c, is_v6)
    local head = c.rest
    if tvb:len() - head < 26 then return "bad-carrier-length" end
    c.head, c.flags, c.mode, c.length = head, u8(tvb, head), u8(tvb, head + 1), u16(tvb, head + 2)
    local tail = head + 26 + c.length
    if tail > tvb:len() then return "bad-carrier-length" end
    if c.mode < 1 or c.mode > 3 then return "unknown-mode" end
    if c.flags >= 0x40 or math.floor(c.flags / 4) % 8 ~= 0 then return "reserved-bits" end
    local wrong = read_tail(tvb, c, tail)
    if wrong == "bad-trailer-length" then return "bad-carrier-length" end
    if wrong then return wrong end
    if c.length == 0 then return "bad-carrier" end
    local content = tvb(head + 26, c.length):tvb()
    if c.type == 1 then return check_inner(content) end
    return check_upper(content, is_v6)
end

local function read_shim(tvb, c)
    if tvb:len() < 6 then return "bad-carrier-length" end
    local kind = u8(tvb, 5)
    c.has_shim, c.type, c.has_cookie = true, kind % 128, kind >= 128
    if u8(tvb, 4) ~= 1 then return "unknown-version" end
    if not carriers[c.type] then return "unknown-carrier" end
    if c.type == 4 and c.has_cookie then return "reserved-bits" end
    c.rest = c.has_cookie and 22 or 6
    if c.rest > tvb:len() then return "bad-carrier-length" end
end

local FRAGMENT_HEAD, DATAGRAM_MAX = 18, 65507

local function read_fragment(tvb, c)
    local part = c.rest + FRAGMENT_HEAD
    if part >= tvb:len() then return "bad-fragment" end
    c.index, c.count, c.part = u8(tvb, part - 2), u8(tvb, part - 1), part
    if c.count < 2 or c.count > 64 or c.index >= c.count then return "bad-fragment" end
    local is_last, length = c.index == c.count - 1, tvb:len() - part
    if not is_last and length * (c.count - 1) + 1 > DATAGRAM_MAX then return "bad-fragment" end
end

-- SHA-256, for the ids of fragments (C2.2). Lua 5.2 has a library for bits, later versions have operators.

local bits = bit32 or load([[
    local function mask(x) return x & 0xffffffff end
    return {
        band = function(a, b) return a & b end,
        bnot = function(a) return mask(~a) end,
        bxor = function(a, b, c) return a ~ b ~ (c or 0) end,
        rshift = function(a, n) return mask(a) >> n end,
        rrotate = function(a, n) return mask(a >> n | a << (32 - n)) end,
    }]])()

local function fraction(x) return math.floor((x - math.floor(x)) * 4294967296) end

-- The first 64 primes make its constants.
local round_constants, first_state = {}, {}
do
    local number = 2
    while #round_constants < 64 do
        local is_prime = true
        for divisor = 2, math.floor(math.sqrt(number)) do
            if number % divisor == 0 then is_prime = false end
        end
        if is_prime then
            if #first_state < 8 then first_state[#first_state + 1] = fraction(math.sqrt(number)) end
            round_constants[#round_constants + 1] = fraction(number ^ (1 / 3))
        end
        number = number + 1
    end
end

local function compress(state, words)
    local band, bxor, bnot, rrotate, rshift = bits.band, bits.bxor, bits.bnot, bits.rrotate, bits.rshift
    for i = 17, 64 do
        local w, v = words[i - 15], words[i - 2]
        local low = bxor(rrotate(w, 7), rrotate(w, 18), rshift(w, 3))
        local high = bxor(rrotate(v, 17), rrotate(v, 19), rshift(v, 10))
        words[i] = (words[i - 16] + low + words[i - 7] + high) % 4294967296
    end
    local a, b, c, d, e, f1, g, h = table.unpack(state)
    for i = 1, 64 do
        local choice = bxor(band(e, f1), band(bnot(e), g))
        local t1 = h + bxor(rrotate(e, 6), rrotate(e, 11), rrotate(e, 25)) + choice + round_constants[i] + words[i]
        local majority = bxor(band(a, b), band(a, c), band(b, c))
        local t2 = bxor(rrotate(a, 2), rrotate(a, 13), rrotate(a, 22)) + majority
        h, g, f1, e, d, c, b = g, f1, e, (d + t1) % 4294967296, c, b, a
        a = (t1 + t2) % 4294967296
    end
    for i, word in ipairs({ a, b, c, d, e, f1, g, h }) do
        state[i] = (state[i] + word) % 4294967296
    end
end

local function big_endian(word)
    local byte = function(unit) return math.floor(word / unit) % 256 end
    return string.char(byte(16777216), byte(65536), byte(256), byte(1))
end

local function sha256(text)
    local zeros = string.rep("\0", (55 - #text) % 64)
    local padded = text .. "\128" .. zeros .. "\0\0\0\0" .. big_endian(#text * 8)
    local state = { table.unpack(first_state) }
    for at = 1, #padded, 64 do
        local words = {}
        for i = 1, 16 do
            local b1, b2, b3, b4 = padded:byte(at + i * 4 - 4, at + i * 4 - 1)
            words[i] = ((b1 * 256 + b2) * 256 + b3) * 256 + b4
        end
        compress(state, words)
    end
    local digest = {}
    for i, word in ipairs(state) do digest[i] = big_endian(word) end
    return table.concat(digest)
end

-- C2.2: parts wait for each other, in bounded memory. A packet that was put together stays, within bounds,
-- as long as the file is open: Wireshark shows frames again and again.

local IDS_MAX, BYTES_MAX, PART_COST, WHOLE_MAX = 4096, 8388608, 64, 67108864
local SECOND = NSTime.new(1, 0)

local waiting, results, whole_bytes

local function forget()
    waiting = { by_key = {}, order = {}, first = 1, ids = 0, bytes = 0 }
    results, whole_bytes = {}, 0
end
forget()
clew.init = forget

local function make_room(now)
    while waiting.ids > 0 do
        local oldest = waiting.order[waiting.first]
        local is_old = now - oldest.since > SECOND
        if not is_old and waiting.ids <= IDS_MAX and waiting.bytes <= BYTES_MAX then return end
        waiting.order[waiting.first] = nil
        waiting.first, waiting.ids = waiting.first + 1, waiting.ids - 1
        waiting.bytes = waiting.bytes - oldest.bytes
        waiting.by_key[oldest.key] = nil
    end
end

local function entry_of(key, now)
    local entry = waiting.by_key[key]
    if entry then return entry end
    entry = { key = key, since = now, parts = {}, have = 0, bytes = 0, packet = {} }
    waiting.by_key[key] = entry
    waiting.order[waiting.first + waiting.ids] = entry
    waiting.ids = waiting.ids + 1
    return entry
end

-- Whether the part's length fits those that are there.
local function fits(entry, index, count, length)
    local size, last = nil, entry.parts[count - 1] and #entry.parts[count - 1]
    for other, part in pairs(entry.parts) do
        if other < count - 1 then size = #part end
    end
    if index == count - 1 then last = length
    elseif size and size ~= length then return false
    else size = length end
    if not size or not last then return true end
    return last <= size and size * (count - 1) + last <= DATAGRAM_MAX
end

local function put_together(entry, id, count)
    local parts = {}
    for index = 0, count - 1 do parts[index + 1] = entry.parts[index] end
    local datagram = table.concat(parts)
    if sha256("clew-fragment-v1" .. datagram):sub(1, 16) == id then return datagram end
end

-- Adds a part. Returns what is wrong, or the datagram if this part made it whole.
local function add_part(entry, id, index, count, part)
    local known = entry.parts[index]
    if known then return known ~= part and "bad-fragment" or nil end
    if not fits(entry, index, count, #part) then return "bad-fragment" end
    entry.parts[index], entry.have = part, entry.have + 1
    if entry.have == count then
        local datagram = put_together(entry, id, count)
        if not datagram then
            entry.parts[index], entry.have = nil, entry.have - 1
            return "bad-fragment"
        end
        return nil, datagram
    end
end

local function collect(tvb, c, pinfo)
    local id, part = tvb(c.rest, 16):raw(), tvb(c.part):raw()
    local now = frame_time().value
    make_room(now)
    local key = id .. string.char(c.count)
    local entry = entry_of(key, now)
    local before = entry.have
    local wrong, datagram = add_part(entry, id, c.index, c.count, part)
    if entry.have > before then
        entry.bytes, waiting.bytes = entry.bytes + #part + PART_COST, waiting.bytes + #part + PART_COST
    end
    make_room(now)
    if wrong then return { wrong = wrong } end
    if datagram then
        entry.packet.number = pinfo.number
        whole_bytes = whole_bytes + #datagram
        if whole_bytes > WHOLE_MAX then
            return { packet = entry.packet, is_left_out = true }
        end
    end
    return { packet = entry.packet, datagram = datagram }
end

-- What is shown.

local function show_saved(tree, tvb, at, flags, prefix)
    for _, saved in ipairs(saved_flags) do
        if bit(flags, saved[2]) then
            tree:add(f[prefix .. saved[1]], tvb(at, 2))
            at = at + 2
        end
    end
end

local function show_block(tree, tvb, t)
    local at = t.block
    if t.mode == 2 then
        tree:add(f.k, tvb(at, 2))
        tree:add(f.h, tvb(at + 2, 32))
    elseif t.mode == 3 then
        tree:add(f.id, tvb(at, 16))
        tree:add(f.index, tvb(at + 16, 2))
        tree:add(f.count, tvb(at + 18, 2))
        tree:add(f.digest, tvb(at + 20, 1))
        tree:add(f.depth, tvb(at + 21, 1))
        if t.block_end > at + 22 then tree:add(f.path, tvb(at + 22, t.block_end - at - 22)) end
    end
end

local function show_share(tree, tvb, t)
    tree:add(f.needed, tvb(t.needed, 2))
    tree:add(f.share, tvb(t.share, t.tag - t.share))
    if t.saved > t.tag then tree:add(f.tag, tvb(t.tag, t.saved - t.tag)) end
end

local function show_head(tree, tvb, at)
    tree:add(f.group, tvb(at, 8))
    tree:add(f.epoch, tvb(at + 8, 4))
    local ns = tvb(at + 12, 8):uint64()
    local second = UInt64(1000000000)
    local time = NSTime.new((ns / second):tonumber(), (ns % second):tonumber())
    local timestamp = tree:add(f.timestamp, tvb(at + 12, 8), time)
    if ns == UInt64(0) then timestamp:append_text(" (not stated)") end
    tree:add(f.scheme, tvb(at + 20, 1))
    tree:add(f.carriage, tvb(at + 21, 1))
end

local function show_foot(tree, tvb, at)
    local flags = tree:add(f.flags, tvb(at, 1))
    local bits = { "nat", "tolerant", "has_ipv4_checksum", "has_udp_length", "has_l4_checksum", "incremental", "reserved" }
    for _, name in ipairs(bits) do
        flags:add(f[name], tvb(at, 1))
    end
    tree:add(f.mode, tvb(at + 1, 1))
    tree:add(f.length, tvb(at + 2, 2))
    tree:add(f.version, tvb(at + 4, 1))
    tree:add(f.magic, tvb(at + 5, 4))
end

-- A trailer whose layout does not hold shows as much, from its end, as is known to stand there.
local function show_trailer(tree, tvb, t)
    if t.block then
        if t.needed then
            show_share(tree, tvb, t)
        else
            tree:add(f.signature, tvb(t.start, t.block - t.start))
        end
        show_block(tree, tvb, t)
    end
    if t.head then
        show_saved(tree, tvb, t.saved, t.flags, "")
        show_head(tree, tvb, t.head)
    end
    show_foot(tree, tvb, t.at)
end

local function show_mark(tree, tvb, m)
    if m.start then
        show_saved(tree, tvb, m.saved, m.flags, "mark_")
        tree:add(f.mark_count, tvb(m.count, 1))
    end
    tree:add(f.mark_flags, tvb(m.at, 1))
    tree:add(f.mark_length, tvb(m.at + 2, 2))
end

local function show_shim(tree, tvb, c)
    tree:add(f.carrier_magic, tvb(0, 4))
    if not c.has_shim then return end
    tree:add(f.version, tvb(4, 1))
    tree:add(f.carrier, tvb(5, 1))
    tree:add(f.has_cookie, tvb(5, 1))
    if c.has_cookie and c.rest and c.rest <= tvb:len() then tree:add(f.cookie, tvb(6, 16)) end
end

local function show_fragment(tree, tvb, c)
    tree:add(f.fragment_id, tvb(c.rest, 16))
    tree:add(f.fragment_index, tvb(c.rest + 16, 1))
    tree:add(f.fragment_count, tvb(c.rest + 17, 1))
    tree:add(f.fragment_part, tvb(c.part))
end

-- Head, block and body: the same fields as in a trailer.
local function show_signed(tree, tvb, c)
    local flags = tree:add(f.flags, tvb(c.head, 1))
    for _, name in ipairs({ "nat", "tolerant", "incremental" }) do
        flags:add(f[name], tvb(c.head, 1))
    end
    tree:add(f.mode, tvb(c.head + 1, 1))
    tree:add(f.content, tvb(c.head + 2, 2))
    show_head(tree, tvb, c.head + 4)
    if not c.block then return end
    if c.type == 2 and c.length > 0 then tree:add(f.protocol, tvb(c.head + 26, 1)) end
    show_block(tree, tvb, c)
    if c.needed then
        show_share(tree, tvb, c)
    else
        tree:add(f.signature, tvb(c.block_end, c.saved - c.block_end))
    end
end

-- C2.1: the packet that udp-transport stands for, with the header that it is delivered with.

local function address(fields)
    local all = { fields() }
    return all[#all].range:bytes()
end

local function two(value) return string.char(math.floor(value / 256) % 256, value % 256) end

local function header_checksum(header)
    local sum = 0
    for at = 1, #header, 2 do
        local high, low = header:byte(at, at + 1)
        sum = sum + high * 256 + low
    end
    while sum > 65535 do sum = sum % 65536 + math.floor(sum / 65536) end
    return 65535 - sum
end

local function transported(content, is_v6)
    local version = is_v6 and 6 or 4
    local protocol, upper = string.char(content(0, 1):uint()), content:len() > 1 and content(1):raw() or ""
    local ends = address(sources[version]):raw() .. address(destinations[version]):raw()
    local header
    if is_v6 then
        header = "\96\0\0\0" .. two(#upper) .. protocol .. "\64" .. ends
    else
        local first = "\69\0" .. two(20 + #upper) .. "\0\0\64\0\64" .. protocol
        header = first .. two(header_checksum(first .. "\0\0" .. ends)) .. ends
    end
    return ByteArray.new(header .. upper, true):tvb("clew inner packet")
end

-- What is known about the packet: verdict and reason.

-- Section 7, in the words of `clew verify`.
local explanations = {
    ["ok"] = "valid signature",
    ["vouched"] = "the window's signature is valid; its own was not verified",
    ["link-type"] = "unsupported link type",
    ["not-ip"] = "not an IP packet",
    ["bad-version"] = "IP version differs from the link layer",
    ["zero-length"] = "IP length 0: captured before segmentation",
    ["jumbo"] = "jumbogram",
    ["bad-length"] = "header lengths contradict each other",
    ["truncated"] = "truncated by the capture",
    ["fragment"] = "IP fragment",
    ["extension-headers"] = "malformed IPv6 extension headers",
    ["routing-header"] = "unsupported IPv6 routing header",
    ["too-big"] = "too big for a trailer",
    ["no-trailer"] = "the packet is not signed",
    ["unknown-version"] = "unknown trailer version",
    ["unknown-carrier"] = "unknown type of datagram",
    ["bad-carrier"] = "the datagram holds no packet that could be signed",
    ["bad-carrier-length"] = "datagram has the wrong length",
    ["bad-fragment"] = "fragment of another or a malformed datagram",
    ["missing-fragment"] = "other fragments of the packet are not in the capture",
    ["cookie"] = "message between daemons without a packet",
    ["bad-trailer-length"] = "trailer has the wrong length",
    ["unknown-mode"] = "unknown mode",
    ["reserved-bits"] = "invalid trailer flags",
    ["bad-mark"] = "invalid mark",
    ["bad-block"] = "invalid window or block",
    ["bad-code"] = "signature share does not belong to its block",
    ["unknown-carriage"] = "unknown carriage",
    ["unknown-scheme"] = "unknown signature scheme",
    ["unknown-group"] = "group file not given",
    ["unknown-epoch"] = "epoch is not in the group file",
    ["epoch-over"] = "epoch had ended",
    ["stale"] = "timestamp too old",
    ["future"] = "timestamp in the future",
    ["too-few-shares"] = "too few packets of its block to restore the signature",
    ["bad-encoding"] = "signature does not decode",
    ["bad-signature"] = "invalid signature: packet or signature was changed",
    ["reordered"] = "valid signature; arrived after a later packet of its block",
    ["duplicate"] = "signed packet was seen before",
}

-- What `clew verify -w` wrote on this packet. Its comment is the first of those it may have, also
-- where an annotated file was annotated again.
local function annotation()
    for _, comment in ipairs({ comments() }) do
        local verdict, reason = tostring(comment.value):match("^clew: (%l+) reason=([%l-]+)")
        if verdict then return { verdict = verdict, reason = reason } end
    end
end

-- The layout decides before any comment does: to see it, nobody has to be believed.
local function judge(wrong)
    if wrong == "too-big" or wrong == "cookie" then return { verdict = "unsigned", reason = wrong } end
    if wrong then return { verdict = "invalid", reason = wrong, malformed = true } end
    return annotation()
end

local function describe(judgement)
    if not judgement then return "not verified here" end
    if judgement.reason == "ok" then return judgement.verdict end
    return judgement.verdict .. ": " .. judgement.reason
end

-- The trailer in a few words: "tree 3/64, " is the third packet of 64.
local function brief(tvb, trailer)
    local at, name = trailer.block, modes[trailer.mode]
    if trailer.mode == 2 then name = name .. " " .. u16(tvb, at) end
    if trailer.mode == 3 then name = name .. " " .. u16(tvb, at + 16) + 1 .. "/" .. u16(tvb, at + 18) end
    return name .. ", "
end

local function show_judgement(tree, judgement)
    local verdict, reason = judgement.verdict, judgement.reason
    local explanation = explanations[reason] or reason
    tree:add(f.verdict, verdict):set_generated()
    tree:add(f.reason, reason):set_generated():append_text(" (" .. explanation .. ")")
    local topic = experts[judgement.malformed and "malformed" or verdict]
    if topic and reason ~= "ok" then
        tree:add_proto_expert_info(topic, verdict .. ": " .. explanation)
    end
end

-- C1: datagrams. Wireshark hands over their UDP payload; the frame's outer header is judged at its end.

-- The frame, and what was read in it.
local current = {}
-- The frame of which an inner packet is being shown: a carrier's datagram in it is only a payload.
local inside

local function show_inner(content, pinfo, root)
    inside = pinfo.number
    -- A malformed inner packet is reported by its own dissector.
    pcall(function() Dissector.get("ip"):call(content, pinfo, root) end)
    inside = nil
end

local function show_packet(tvb, c, pinfo, root, tree, is_v6)
    if c.head then show_signed(tree, tvb, c) end
    if c.wrong then return end
    current.words = carriers[c.type] .. " " .. brief(tvb, c)
    local content = tvb(c.head + 26, c.length):tvb()
    if c.type == 2 then content = transported(content, is_v6) end
    show_inner(content, pinfo, root)
end

-- The packet of fragments, in the frame that made it whole.
local function show_whole(datagram, pinfo, root, is_v6)
    local tvb = ByteArray.new(datagram, true):tvb("clew fragments")
    local c = {}
    c.wrong = read_shim(tvb, c)
    local is_packet = tvb:len() > 4 and tvb(0, 4):uint() == CARRIER_MAGIC and (c.type == 1 or c.type == 2)
    if not is_packet or c.has_cookie then return "bad-fragment" end
    c.wrong = c.wrong or read_packet(tvb, c, is_v6)
    local tree = root:add(clew, tvb())
    show_shim(tree, tvb, c)
    show_packet(tvb, c, pinfo, root, tree, is_v6)
    return c.wrong
end

local function show_part(tvb, c, pinfo, root, tree, is_v6)
    show_fragment(tree, tvb, c)
    current.words = "fragment " .. c.index + 1 .. "/" .. c.count .. ", "
    local result = results[pinfo.number]
    if not result then
        result = collect(tvb, c, pinfo)
        results[pinfo.number] = result
    end
    if result.wrong then return result.wrong end
    if result.packet.number then tree:add(f.packet_in, result.packet.number):set_generated() end
    if result.is_left_out then tree:append_text(" (too many packets in fragments to show this one)") end
    if result.datagram then result.packet.wrong = show_whole(result.datagram, pinfo, root, is_v6) end
    return result.packet.wrong
end

local function read_carrier(tvb, c, is_v6)
    local wrong = read_shim(tvb, c)
    if wrong then return wrong end
    if c.type == 3 then return read_fragment(tvb, c) end
    if c.type == 4 then return tvb:len() == 38 and "cookie" or "bad-carrier-length" end
    return read_packet(tvb, c, is_v6)
end

local function show_carrier(tvb, pinfo, root)
    local c, is_v6 = {}, tostring(pinfo.net_src):find(":") ~= nil
    c.wrong = read_carrier(tvb, c, is_v6)
    current = { number = pinfo.number, words = (carriers[c.type] or "carrier") .. ", " }
    local tree = root:add(clew, tvb())
    tree:append_text(": " .. (carriers[c.type] or "datagram"))
    show_shim(tree, tvb, c)
    if c.type == 4 and c.wrong == "cookie" then
        tree:add(f.echo, tvb(6, 16))
        tree:add(f.cookie, tvb(22, 16))
    elseif c.type == 3 and not c.wrong then
        c.wrong = show_part(tvb, c, pinfo, root, tree, is_v6)
    else
        show_packet(tvb, c, pinfo, root, tree, is_v6)
    end
    current.wrong = c.wrong
end

local function is_carrier(tvb)
    return tvb:len() >= 4 and tvb(0, 4):uint() == CARRIER_MAGIC
end

local function heuristic(tvb, pinfo, root)
    if inside == pinfo.number or not is_carrier(tvb) then return false end
    show_carrier(tvb, pinfo, root)
    return true
end

function clew_udp.dissector(tvb, pinfo, root)
    return heuristic(tvb, pinfo, root) and tvb:len() or 0
end

-- What the outer header makes of the datagram.
local function outer_wrong(tvb, datagram)
    if not datagram.is_plain then return "bad-carrier" end
    if u16(tvb, datagram.upper + 4) ~= datagram.to - datagram.upper then return "bad-carrier-length" end
end

-- A frame whose outermost datagram is a carrier's; its range is the UDP payload.
local function inspect_carrier(tvb, datagram, pinfo, root)
    local from = datagram.upper + 8
    if datagram.protocol ~= 17 or datagram.to - from < 4 then return end
    if tvb(from, 4):uint() ~= CARRIER_MAGIC then return end
    -- Another dissector may have the port.
    if current.number ~= pinfo.number then show_carrier(tvb(from, datagram.to - from):tvb(), pinfo, root) end
    local wrong = outer_wrong(tvb, datagram) or current.wrong
    return { wrong = wrong, words = current.words, range = tvb(from, datagram.to - from) }
end

-- What the packet itself says; nothing unless it ends in the magic, or is a carrier's.
local function inspect(tvb, pinfo, root)
    local datagram = locate(tvb)
    if not datagram then return end
    local carrier = inspect_carrier(tvb, datagram, pinfo, root)
    if carrier then return carrier end
    if not has_magic(tvb, datagram.upper, datagram.to) then return end
    local trailer, mark, wrong = read(tvb, datagram)
    local first = trailer or mark
    local from = first and (first.start or first.head or first.at) or datagram.to - 4
    return { trailer = trailer, mark = mark, wrong = wrong, range = tvb(from, datagram.to - from) }
end

function clew.dissector(tvb, pinfo, root)
    local found = inspect(tvb, pinfo, root)
    local judgement = judge(found and found.wrong)
    if not found and not judgement then return end
    local words = describe(judgement)
    if found and not found.wrong then words = (found.words or brief(tvb, found.trailer)) .. words end
    pinfo.cols.info:append(" [clew " .. words .. "]")
    local tree = found and root:add(clew, found.range) or root:add(clew)
    tree:append_text(": " .. words)
    if judgement then show_judgement(tree, judgement) end
    if found and found.trailer then show_trailer(tree, tvb, found.trailer) end
    if found and found.mark then show_mark(tree, tvb, found.mark) end
end

register_postdissector(clew)
clew_udp:register_heuristic("udp", heuristic)
DissectorTable.get("udp.port"):add(PORT, clew_udp)
