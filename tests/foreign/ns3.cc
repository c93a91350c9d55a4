// ns3: rounds of a server and its clients in ns-3, for tests/foreign/ns3_check.py.
//
// A switch in the middle, a port for each client and one for the server. In each round the server
// sends a message to every client; a client that has all of it sends one of the same length back;
// the round ends when the server has them all. Two TCP connections a client, one for each way, are
// open before the first round. Prints the seconds of each round, one a line.

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-module.h>

#include <cstdio>
#include <deque>
#include <vector>

using namespace ns3;

namespace
{

// A full segment: 1448 bytes of data, headers of 52, and 14 of Ethernet where ns-3 has 2 of PPP.
// Rates and queues are scaled so that it takes as long, and as much, as on Ethernet.
const uint32_t segment_bytes = 1448;
const uint32_t turn_bytes = 128 << 10;
const double ppp_per_ethernet = 1502.0 / 1514.0;

struct Port
{
    double rate_mbps, rtt_ms, queue_bytes, loss_ratio; // queue of the way in: 0 never drops
};

// One way of one client: what was not yet written, and what is still to come.
struct Way
{
    Ptr<Socket> from;
    uint32_t host = 0;
    uint64_t to_write = 0, to_come = 0;
};

// What a host writes when, as strait's transport does: twice its port's rate, streams in turns.
// Where packets are drawn, it begins at a drawn moment within a packet's time.
struct Host
{
    double rate_bits_per_s = 0;
    Ptr<UniformRandomVariable> begins;
    std::deque<Way *> turns;
};

struct Rounds
{
    uint32_t n_rounds = 3, n_clients = 1, done = 0, n_open = 0, n_back = 0;
    uint64_t message_bytes = 1000000;
    double began_s = 0;
    std::vector<Way> down, up;
    std::vector<Host> hosts;

    void write(Host &host)
    {
        Way &way = *host.turns.front();
        auto n = static_cast<uint32_t>(std::min<uint64_t>(way.to_write, turn_bytes));
        NS_ABORT_UNLESS(way.from->Send(Create<Packet>(n)) == static_cast<int>(n));
        way.to_write -= n;
        Simulator::Schedule(Seconds(n * 8 / (2 * host.rate_bits_per_s)), [this, &host]() {
            Way *last = host.turns.front();
            host.turns.pop_front();
            if (last->to_write > 0)
                host.turns.push_back(last);
            if (!host.turns.empty())
                write(host);
        });
    }

    void post(Way &way)
    {
        Host &host = hosts[way.host];
        way.to_write = way.to_come = message_bytes;
        host.turns.push_back(&way);
        if (host.turns.size() == 1)
            Simulator::Schedule(Seconds(host.begins ? host.begins->GetValue() : 0),
                                [this, &host]() { write(host); });
    }

    void begin()
    {
        began_s = Simulator::Now().GetSeconds();
        n_back = 0;
        for (Way &way : down)
            post(way);
    }

    void came(uint32_t client, bool is_up, Ptr<Socket> at)
    {
        Way &way = is_up ? up[client] : down[client];
        while (Ptr<Packet> p = at->Recv()) {
            if (p->GetSize() == 0)
                break;
            way.to_come -= p->GetSize();
        }
        if (way.to_come > 0)
            return;
        if (!is_up) {
            post(up[client]);
        } else if (++n_back == n_clients) {
            std::printf("%.9f\n", Simulator::Now().GetSeconds() - began_s);
            if (++done == n_rounds)
                Simulator::Stop();
            else
                begin();
        }
    }
};

NetDeviceContainer join(Ptr<Node> host, Ptr<Node> hub, const Port &port)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate",
                            DataRateValue(DataRate(
                                static_cast<uint64_t>(port.rate_mbps * 1e6 * ppp_per_ethernet))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(port.rtt_ms / 2e3)));
    link.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("4000000000B"));
    NetDeviceContainer both = link.Install(host, hub);
    if (port.queue_bytes > 0) {
        auto bytes = static_cast<uint64_t>(port.queue_bytes * ppp_per_ethernet);
        both.Get(1)->GetObject<PointToPointNetDevice>()->GetQueue()->SetMaxSize(
            QueueSize(std::to_string(bytes) + "B"));
    }
    for (uint32_t i = 0; port.loss_ratio > 0 && i < 2; i++) {
        Ptr<RateErrorModel> loses = CreateObject<RateErrorModel>();
        loses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        loses->SetRate(port.loss_ratio);
        both.Get(i)->GetObject<PointToPointNetDevice>()->SetReceiveErrorModel(loses);
    }
    return both;
}

} // namespace

int main(int argc, char *argv[])
{
    Rounds rounds;
    Port client = {100, 40, 0, 0}, server = {1000, 0, 0, 0};
    std::string congestion = "TcpLinuxReno";
    uint32_t del_ack_count = 2, seed = 1;
    bool hystart = false;

    CommandLine cmd(__FILE__);
    cmd.AddValue("clients", "number of clients", rounds.n_clients);
    cmd.AddValue("rounds", "number of rounds", rounds.n_rounds);
    cmd.AddValue("bytes", "of each message", rounds.message_bytes);
    cmd.AddValue("rate", "of clients' ports, Mbps", client.rate_mbps);
    cmd.AddValue("rtt", "of clients' ports, ms", client.rtt_ms);
    cmd.AddValue("loss", "share of packets lost at clients' ports, each way", client.loss_ratio);
    cmd.AddValue("server", "rate of the server's port, Mbps", server.rate_mbps);
    cmd.AddValue("queue", "towards the server, bytes; 0: never drops", server.queue_bytes);
    cmd.AddValue("congestion", "TcpLinuxReno, TcpCubic, TcpBbr", congestion);
    cmd.AddValue("delack", "DelAckCount, segments an acknowledgement", del_ack_count);
    cmd.AddValue("hystart", "of TcpCubic", hystart);
    cmd.AddValue("seed", "of losses, starts and BBR's first phase", seed);
    cmd.Parse(argc, argv);

    RngSeedManager::SetSeed(seed);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + congestion));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(segment_bytes));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(del_ack_count));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(40)));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1u << 28));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1u << 28));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(hystart));

    NodeContainer hub(1), hosts(rounds.n_clients + 1); // the last one is the server
    InternetStackHelper().Install(NodeContainer(hub, hosts));
    std::vector<Ipv4Address> at;
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.252");
    for (uint32_t i = 0; i <= rounds.n_clients; i++) {
        NetDeviceContainer both =
            join(hosts.Get(i), hub.Get(0), i < rounds.n_clients ? client : server);
        at.push_back(addresses.Assign(both).GetAddress(0));
        addresses.NewNetwork();
        TrafficControlHelper().Uninstall(both); // the port's own queue is the only one
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    Ptr<Node> server_node = hosts.Get(rounds.n_clients);
    rounds.down.resize(rounds.n_clients);
    rounds.up.resize(rounds.n_clients);
    rounds.hosts.assign(rounds.n_clients, Host{client.rate_mbps * 1e6, nullptr, {}});
    rounds.hosts.push_back(Host{server.rate_mbps * 1e6, nullptr, {}});
    for (Host &host : rounds.hosts) {
        if (server.queue_bytes > 0 || client.loss_ratio > 0) {
            host.begins = CreateObject<UniformRandomVariable>();
            host.begins->SetAttribute("Max", DoubleValue(1514 * 8 / host.rate_bits_per_s));
        }
    }
    for (uint32_t i = 0; i < rounds.n_clients; i++) {
        for (bool is_up : {false, true}) {
            Ptr<Node> from = is_up ? hosts.Get(i) : server_node;
            Ptr<Node> to = is_up ? server_node : hosts.Get(i);
            auto port = static_cast<uint16_t>(5000 + 2 * i + is_up);
            Ptr<Socket> listens = Socket::CreateSocket(to, TcpSocketFactory::GetTypeId());
            listens->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
            listens->Listen();
            listens->SetAcceptCallback(
                MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                Callback<void, Ptr<Socket>, const Address &>(
                    [&rounds, i, is_up](Ptr<Socket> s, const Address &) {
                        if (++rounds.n_open == 2 * rounds.n_clients)
                            rounds.begin();
                        s->SetRecvCallback(Callback<void, Ptr<Socket>>(
                            [&rounds, i, is_up](Ptr<Socket> at) { rounds.came(i, is_up, at); }));
                    }));
            Way &way = is_up ? rounds.up[i] : rounds.down[i];
            way.from = Socket::CreateSocket(from, TcpSocketFactory::GetTypeId());
            way.host = is_up ? i : rounds.n_clients;
            way.from->Connect(InetSocketAddress(is_up ? at.back() : at[i], port));
        }
    }
    Simulator::Stop(Seconds(3600));
    Simulator::Run();
    bool all = rounds.done == rounds.n_rounds;
    Simulator::Destroy();
    return all ? 0 : 1;
}
