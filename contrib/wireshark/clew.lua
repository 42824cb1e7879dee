-- Shows the trailer of clew (spec/packet-trailer.md) in Wireshark and tshark: every field can be
-- filtered on (clew.mode == 3, clew.group == 7c:1e:..., clew.malformed). It reads and does not
-- verify. What holds is said by `clew verify -w`, which writes it as a comment on each packet; from
-- there come clew.verdict and clew.reason, but for malformed trailers, which show on their own.
-- How to install it: README.md beside this file.
--
--   tshark -X lua_script:clew.lua -r signed.pcap -Y clew
--
-- Section numbers are those of spec/packet-trailer.md. Arithmetic instead of bit operators: Lua 5.2
-- (Wireshark 4.0) and 5.4 (4.4 and later) have none in common.

local clew = Proto("clew", "clew Attribution Trailer")

local MAGIC = 0xc14c4557
local FOOT, HEAD, MARK_MAX = 9, 22, 16

local modes = { [0] = "mark", [1] = "each", [2] = "window", [3] = "tree" }
local schemes = { [1] = "bbs04", [2] = "xr" }
local carriages = { [1] = "full", [2] = "coded", [3] = "coded, short tags" }
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
    verdict = ProtoField.string("clew.verdict", "Verdict"),
    reason = ProtoField.string("clew.reason", "Reason"),
}
clew.fields = f

local function expertise(name, text, group, severity)
    return ProtoExpert.new("clew." .. name, text, expert.group[group], expert.severity[severity])
end

local experts = {
    malformed = expertise("malformed", "Malformed trailer", "MALFORMED", "ERROR"),
    invalid = expertise("invalid", "Invalid", "SECURITY", "ERROR"),
    undecided = expertise("undecided", "Undecided", "SECURITY", "WARN"),
    unsigned = expertise("unsigned", "Unsigned", "SECURITY", "NOTE"),
    valid = expertise("remark", "Valid, with a remark", "SECURITY", "NOTE"),
}
clew.experts = { experts.malformed, experts.invalid, experts.undecided, experts.unsigned, experts.valid }

local encapsulation = Field.new("frame.encap_type")
local comments = Field.new("frame.comment")

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
        version = 4, upper = start + header, to = start + total, protocol = u8(tvb, start + 9),
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
    local to, headers = at + payload, 0
    if to > tvb:len() then return end
    while protocol == 0 or protocol == 43 or protocol == 60 do
        headers = headers + 1
        if headers > 8 or at + 2 > to then return end
        local length = (u8(tvb, at + 1) + 1) * 8
        if at + length > to then return end
        if protocol == 43 and not names_destination(tvb, at, length) then return end
        protocol, at = u8(tvb, at), at + length
    end
    if protocol == 44 then return end
    return {
        version = 6, upper = at, to = to, protocol = protocol,
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
    if wrong == "too-big" then return { verdict = "unsigned", reason = wrong } end
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

-- What the packet itself says; nothing unless it ends in the magic.
local function inspect(tvb)
    local datagram = locate(tvb)
    if not datagram or not has_magic(tvb, datagram.upper, datagram.to) then return end
    local trailer, mark, wrong = read(tvb, datagram)
    local first = trailer or mark
    local from = first and (first.start or first.head or first.at) or datagram.to - 4
    return { trailer = trailer, mark = mark, wrong = wrong, range = tvb(from, datagram.to - from) }
end

function clew.dissector(tvb, pinfo, root)
    local found = inspect(tvb)
    local judgement = judge(found and found.wrong)
    if not found and not judgement then return end
    local words = describe(judgement)
    if found and not found.wrong then words = brief(tvb, found.trailer) .. words end
    pinfo.cols.info:append(" [clew " .. words .. "]")
    local tree = found and root:add(clew, found.range) or root:add(clew)
    tree:append_text(": " .. words)
    if judgement then show_judgement(tree, judgement) end
    if found and found.trailer then show_trailer(tree, tvb, found.trailer) end
    if found and found.mark then show_mark(tree, tvb, found.mark) end
end

register_postdissector(clew)
